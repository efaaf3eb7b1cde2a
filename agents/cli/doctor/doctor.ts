import { join } from "node:path";
import { LOCAL_CHAINS } from "../../adapters/chain/beacon.ts";
import { secp256k1 } from "../../core/encoding/secp256k1.ts";
import { parseChoice } from "../shared/arguments.ts";
import { chainFlags, findChainConfig, findPlace, type ChainFlags } from "../shared/chain-source.ts";
import type { CommandSpec } from "../shared/command.ts";
import {
  CONFIG_FILE,
  loadAgentConfig,
  readDeployment,
  type AgentChainConfig,
  type DeploymentFile,
} from "../shared/config.ts";
import { examineAgent } from "./agent.ts";
import { examineChain } from "./chain.ts";
import { check, fail, ok, warn, type Check } from "./checks.ts";
import { passwordFlag } from "../shared/keys.ts";
import { printable } from "../shared/output.ts";

interface Options extends ChainFlags {
  readonly passwordFile?: string;
  readonly profile?: string;
}

const PROFILES = ["production", "default"] as const;
const MINIMUM_NODE = [22, 19] as const;

export const doctor: CommandSpec<Options> = {
  example: "conclave doctor --dir ./my-agent\nconclave doctor --deployment deployments/1.json --rpc https://...",
  options: [
    ...chainFlags,
    passwordFlag,
    {
      flags: "--profile <name>",
      description:
        "build to compare the code with: production or default (default: that of the deployment file; without one, default on a local chain)",
    },
  ],
  run: async ({ options, host, tell }) => {
    const { folder, deployment } = findPlace(options, host);
    const chain = await findChainConfig(options, host);
    const file = deployment === null ? null : await readDeployment(deployment);
    const checks: Check[] = [await examineNode(), await examineCurve()];
    if (folder !== null && file !== null) checks.push(await compareDeployment(chain, file));
    const ofChain = await examineChain(chain, file, profileOf(options, file, chain), host, tell);
    checks.push(...ofChain);
    if (folder !== null) {
      const config = { ...(await loadAgentConfig(join(folder, CONFIG_FILE))), chain };
      const answers = ofChain.some(({ name, level }) => name === "contracts" && level === "ok");
      checks.push(...(await examineAgent(config, answers, options, host)));
    }
    const failed = checks.filter(({ level }) => level === "fail").length;
    const warned = checks.filter(({ level }) => level === "warn").length;
    const text = [...checks.map(shown), `${checks.length} checks: ${failed} failed, ${warned} with a warning`].join(
      "\n",
    );
    return { json: { ok: failed === 0, checks }, text, ok: failed === 0 };
  },
};

/** Compares the config with the deployment file it was copied from; either may have changed. */
function compareDeployment(chain: AgentChainConfig, file: DeploymentFile): Promise<Check> {
  return check("deployment file", () => {
    const names = ["chainId", "oracle", "registry"] as const;
    const differ = names.filter((name) => String(chain[name]).toLowerCase() !== String(file[name]).toLowerCase());
    if (differ.length === 0) return ok("the config is of this deployment");
    const lines = differ.map((name) => `${name} is ${chain[name]} in the config, ${file[name]} in the file`);
    return fail(lines.join("; "), "correct chain in the config, or name another deployment file");
  });
}

/** On a local chain the fast build is likelier, and the production build takes minutes to compile. */
function profileOf(
  { profile }: Options,
  file: DeploymentFile | null,
  { chainId }: AgentChainConfig,
): (typeof PROFILES)[number] {
  if (profile !== undefined) return parseChoice(profile, "--profile", PROFILES);
  return file?.buildProfile ?? (LOCAL_CHAINS.includes(chainId) ? "default" : "production");
}

function examineNode(): Promise<Check> {
  return check("node", () => {
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    const [leastMajor, leastMinor] = MINIMUM_NODE;
    if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return ok(`Node ${process.versions.node}`);
    const way = "start conclave by npx or npm run, which use the Node of the package, or update Node";
    return fail(`Node ${process.versions.node} is older than ${leastMajor}.${leastMinor}`, way);
  });
}

function examineCurve(): Promise<Check> {
  return check("signatures", () => {
    const { library } = secp256k1;
    const found = `secp256k1 by ${library} on ${process.platform}-${process.arch}`;
    if (library !== "noble") return ok(found);
    const way = "install conclave again without --omit=optional, and let the process use WebAssembly";
    return warn(`${found}: neither native code nor WebAssembly loads, and noble takes 25 times as long`, way);
  });
}

function shown({ name, level, message, way }: Check): string {
  const line = `${level.padEnd(4)}  ${name}: ${printable(message)}`;
  return way === undefined ? line : `${line}\n      way out: ${printable(way)}`;
}
