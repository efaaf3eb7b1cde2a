import { loadArtifacts, maskImmutables, type Artifact, type BuildProfile } from "../adapters/artifacts/artifacts.ts";
import {
  createDeploymentReader,
  type Contracts,
  type DeploymentReader,
  type Holder,
} from "../adapters/chain/deployment.ts";
import { originOf } from "../adapters/chain/errors.ts";
import { readChainId } from "../adapters/chain/terms.ts";
import type { Address } from "../core/types.ts";
import type { CliHost } from "./command.ts";
import type { AgentChainConfig, DeploymentFile } from "./config.ts";
import { check, fail, ok, warn, type Check } from "./doctor-checks.ts";

/** What the contracts are compiled from; files of this repository. */
const files = {
  registry: "contracts/AgentRegistry.sol:AgentRegistry",
  oracle: "contracts/DecisionOracle.sol:DecisionOracle",
  slasher: "contracts/Slasher.sol:Slasher",
  accessManager: "contracts/ConclaveAccessManager.sol:ConclaveAccessManager",
} as const;

const MAX_DECIMALS = 36;

/** In order; what cannot be looked at after a failure is left out. */
export async function examineChain(
  chain: AgentChainConfig,
  file: DeploymentFile | null,
  profile: BuildProfile,
  host: CliHost,
  progress: (line: string) => void,
): Promise<readonly Check[]> {
  const served = await check("chain", async () => {
    const found = await readChainId(chain.rpcUrl, host.signal);
    const where = `${originOf(chain.rpcUrl)} serves chain ${found}`;
    return found === chain.chainId
      ? ok(where)
      : fail(
          `CHAIN_WRONG_ID: ${where}, but chain ${chain.chainId} is configured`,
          "correct the RPC URL or the chain id",
        );
  });
  if (served.level === "fail") return [served];
  const reader = createDeploymentReader(chain.rpcUrl, host.signal);
  const [registry, oracle] = [chain.registry.toLowerCase() as Address, chain.oracle.toLowerCase() as Address];
  const present = [await exists("registry", registry, reader), await exists("oracle", oracle, reader)];
  if (present.some(({ level }) => level === "fail")) return [served, ...present];
  let contracts: Contracts | null = null;
  const located = await check("contracts", async () => {
    contracts = await reader.contracts(registry, oracle);
    return ok(
      `registry ${registry}, oracle ${oracle}, slasher ${contracts.slasher}, access manager ${contracts.accessManager}`,
    );
  });
  if (contracts === null) return [served, located];
  return [
    served,
    located,
    ...(await compareSlasher(contracts, file)),
    ...(await compareCode(contracts, profile, reader, progress)),
    await examineBindings(contracts, reader),
    ...(await examineRoles(contracts, BigInt(chain.deploymentBlock), reader)),
    await examineTokens(contracts, reader),
  ];
}

function exists(name: string, address: Address, reader: DeploymentReader): Promise<Check> {
  return check(name, async () => {
    if ((await reader.code(address)) !== "0x") return ok(`there is a contract at ${address}`);
    return fail(`CHAIN_NO_CONTRACT: there is no contract at ${address}`, "correct the address, or deploy first");
  });
}

/** The deployment file's, which no config holds, against the one that the registry lets slash. */
async function compareSlasher({ slasher }: Contracts, file: DeploymentFile | null): Promise<readonly Check[]> {
  const stated = file?.slasher?.toLowerCase();
  if (stated === undefined) return [];
  const compared = await check("slasher", () => {
    if (stated === slasher) return ok("the registry's slasher is that of the deployment file");
    const found = `the registry's slasher is ${slasher}, ${stated} in the deployment file`;
    return fail(found, "correct slasher in the file, or name another deployment file");
  });
  return [compared];
}

/** Against the contracts of this checkout, without what constructors wrote into the code. */
async function compareCode(
  contracts: Contracts,
  profile: BuildProfile,
  reader: DeploymentReader,
  progress: (line: string) => void,
): Promise<readonly Check[]> {
  progress(`comparing code with the ${profile} build; compiling it may take minutes`);
  const names = Object.keys(files) as (keyof typeof files)[];
  let artifacts: readonly Artifact[];
  try {
    artifacts = await loadArtifacts(Object.values(files), profile);
  } catch (error) {
    const [reason = ""] = String(error).split("\n");
    const way = "install the development dependencies with npm ci, and run doctor in a checkout";
    return [{ name: "code", ...warn(`not compared: ${reason}`, way) }];
  }
  return Promise.all(
    names.map((name, index) =>
      check(`code of ${name}`, async () => {
        const { deployedBytecode, immutableReferences } = artifacts[index] ?? noArtifact(name);
        const code = await reader.code(contracts[name]);
        if (maskImmutables(code, immutableReferences) === deployedBytecode) return ok(`is the ${profile} build`);
        const what = code === "0x" ? "there is no contract" : "the code is not that of this checkout";
        const way = `check out the version that was deployed, give its --profile, or distrust ${contracts[name]}`;
        return fail(`${what} at ${contracts[name]} (${profile} build)`, way);
      }),
    ),
  );
}

function noArtifact(name: string): never {
  throw new Error(`Find the artifact of the ${name}: there is none`);
}

function examineBindings(contracts: Contracts, reader: DeploymentReader): Promise<Check> {
  const { registry, oracle, slasher } = contracts;
  return check("bindings", async () => {
    const bound = await reader.bindings(contracts);
    const wrong = [
      ["the registry", "oracle", bound.oracleOfRegistry, oracle],
      ["the oracle", "registry", bound.registryOfOracle, registry],
      ["the slasher", "registry", bound.registryOfSlasher, registry],
      ["the slasher", "oracle", bound.oracleOfSlasher, oracle],
    ].filter(([, , found, expected]) => found !== expected);
    if (wrong.length === 0) return ok(`registry, oracle and slasher ${slasher} name each other`);
    const lines = wrong.map(([who, what, found, expected]) => `${who} is bound to ${what} ${found}, not ${expected}`);
    return fail(lines.join("; "), "correct the addresses: these contracts are not of one deployment");
  });
}

async function examineRoles(
  contracts: Contracts,
  fromBlock: bigint,
  reader: DeploymentReader,
): Promise<readonly Check[]> {
  const pausing = await check("pausing", async () => {
    const { pausers, closed } = await reader.roles(contracts, fromBlock);
    if (closed)
      return warn("the access manager has closed the oracle: nobody can pause new requests", "ask its administrator");
    if (pausers.length === 0) return warn("nobody can pause new requests", "have the administrator grant the role");
    return ok(`new requests can be paused by ${pausers.map(shown).join(", ")}`);
  });
  const administration = await check("administration", async () => {
    const { administrators } = await reader.roles(contracts, fromBlock);
    if (administrators.length === 0) return ok("nobody administers the roles any more");
    const single = administrators.filter(({ isContract, delaySeconds }) => !isContract && delaySeconds === 0);
    const all = `roles are administered by ${administrators.map(shown).join(", ")}`;
    if (single.length === 0) return ok(all);
    return warn(`${all}: a single key without delay`, "make a timelock or a multisig the administrator");
  });
  return [pausing, administration];
}

function shown({ account, delaySeconds, isContract }: Holder): string {
  return `${account} (${isContract ? "contract" : "account"}, ${delaySeconds === 0 ? "no delay" : `delay ${delaySeconds} s`})`;
}

function examineTokens(contracts: Contracts, reader: DeploymentReader): Promise<Check> {
  return check("tokens", async () => {
    const { stake, fee } = await reader.tokens(contracts);
    const lines: string[] = [];
    for (const [name, token] of Object.entries({ stake, fee })) {
      const decimals = await reader.decimals(token);
      if (decimals === null || decimals > MAX_DECIMALS) {
        const said = decimals === null ? "does not say its decimals" : `has ${decimals} decimals`;
        return warn(`the ${name} token ${token} ${said}`, "read and give amounts in its smallest unit");
      }
      lines.push(`${name} token ${token}: ${decimals} decimals`);
    }
    return ok(lines.join(", "));
  });
}
