// The package entry `@conclave/contracts/abi`: the ABIs of the contracts, every custom error, and where the contracts are deployed.
// It is plain JavaScript, because Node strips no types from installed packages; it needs no Solidity compiler at run time.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LOCAL_CHAINS } from "../../agents/adapters/chain/beacon.ts";
import { compile, contractFiles, readSource, type AbiItem } from "./compiler.ts";

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

interface Constant {
  readonly name: string;
  readonly summary: string;
  readonly items: readonly AbiItem[];
}

const root = join(import.meta.dirname, "../..");

/** The exported constants and the contracts whose ABIs they join. */
const modules: readonly {
  readonly name: string;
  readonly summary: string;
  readonly sources: readonly (readonly [file: string, contract: string])[];
}[] = [
  {
    name: "decisionOracleAbi",
    summary: "Requests, draw, commit, appeal; subscriptions, prices, credits.",
    sources: [["contracts/DecisionOracle.sol", "DecisionOracle"]],
  },
  {
    name: "settlementAbi",
    summary: "What the rounds of a request pay.",
    sources: [["contracts/Settlement.sol", "Settlement"]],
  },
  {
    name: "agentRegistryAbi",
    summary: "Agents and stakes.",
    sources: [["contracts/AgentRegistry.sol", "AgentRegistry"]],
  },
  { name: "slasherAbi", summary: "Evidence.", sources: [["contracts/Slasher.sol", "Slasher"]] },
  {
    name: "accessManagerAbi",
    summary: "Who may set prices and pause new requests.",
    sources: [["contracts/ConclaveAccessManager.sol", "ConclaveAccessManager"]],
  },
  {
    name: "decisionConsumerAbi",
    summary: "What a contract that asks implements.",
    sources: [["contracts/interfaces/IDecisionConsumer.sol", "IDecisionConsumer"]],
  },
  {
    name: "tokenAbi",
    summary: "What Conclave uses of the stake and fee token.",
    sources: [
      ["@openzeppelin/contracts/token/ERC20/IERC20.sol", "IERC20"],
      ["@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol", "IERC20Permit"],
      ["@openzeppelin/contracts/interfaces/IERC5267.sol", "IERC5267"],
      ["@openzeppelin/contracts/interfaces/draft-IERC6093.sol", "IERC20Errors"],
    ],
  },
];

const NOTICE = "// Generated from the contracts by scripts/abi.ts; `npm run check` compares. Do not edit.\n";

const DEPLOYMENT_TYPE = `/** Where the contracts are on one chain, as \`npm run deploy\` writes it. */
export interface Deployment {
  readonly chainId: number;
  /** Scans of events begin here. */
  readonly deploymentBlock: number;
  readonly token: \`0x\${string}\`;
  readonly accessManager: \`0x\${string}\`;
  readonly registry: \`0x\${string}\`;
  readonly oracle: \`0x\${string}\`;
  readonly settlement: \`0x\${string}\`;
  readonly slasher: \`0x\${string}\`;
}

/** By chain id; local chains are not among them. */
export declare const deployments: { readonly [chainId: number]: Deployment | undefined };
`;

/** The text of each generated file, by its path. */
export function generateAbi(): Readonly<Record<string, string>> {
  const constants = readConstants();
  const values = constants.map(({ name, items }) => `export const ${name} = [\n${lines(items)}];\n`);
  const types = constants.map(
    ({ name, summary, items }) =>
      `/** ${summary} */\nexport declare const ${name}: readonly [\n${plain(items)
        .map((item) => `  ${typeOf(item)},\n`)
        .join("")}];\n`,
  );
  const deployments = `export const deployments = ${JSON.stringify(readDeployments(), null, 2)};\n`;
  return {
    "contracts/abi/index.js": [NOTICE, ...values, deployments].join("\n"),
    "contracts/abi/index.d.ts": [NOTICE, ...types, DEPLOYMENT_TYPE].join("\n"),
  };
}

function readConstants(): readonly Constant[] {
  const own = contractFiles();
  const files = new Set([...own, ...modules.flatMap(({ sources }) => sources.map(([file]) => file))]);
  const sources = Object.fromEntries([...files].map((file) => [file, readSource(file)]));
  const { contracts } = compile(sources, { "*": ["abi"] });
  const constants = modules.map(({ name, summary, sources: places }) => {
    const items = places.flatMap(
      ([file, contract]) => contracts[file]?.[contract]?.abi ?? fail(`Find ${contract} in ${file}`),
    );
    return { name, summary, items: items.filter((item) => item.type !== "constructor") };
  });
  const all = own.flatMap((file) => Object.values(contracts[file] ?? {}).flatMap(({ abi }) => abi));
  const errors = Map.groupBy(
    all.filter(({ type }) => type === "error"),
    (item) => JSON.stringify(item),
  );
  const items = [...errors.keys()].toSorted().map((text) => JSON.parse(text) as AbiItem);
  return [...constants, { name: "errorsAbi", summary: "Every custom error of every contract.", items }];
}

function readDeployments(): Readonly<Record<number, Json>> {
  const files = globSync("deployments/*.json", { cwd: root });
  const found = files.map(
    (file) => JSON.parse(readFileSync(join(root, file), "utf8")) as Record<string, Json> & { chainId: number },
  );
  const names = ["chainId", "deploymentBlock", "token", "accessManager", "registry", "oracle", "settlement", "slasher"];
  return Object.fromEntries(
    found
      .filter(({ chainId }) => !LOCAL_CHAINS.includes(chainId))
      .map((deployment) => [
        deployment.chainId,
        Object.fromEntries(names.map((name) => [name, deployment[name] ?? fail(`Find ${name} of a deployment`)])),
      ]),
  );
}

function lines(items: readonly AbiItem[]): string {
  return items.map((item) => `  ${JSON.stringify(item)},\n`).join("");
}

function plain(items: readonly AbiItem[]): readonly Json[] {
  return JSON.parse(JSON.stringify(items)) as readonly Json[];
}

/** The type that TypeScript infers for the value `as const`. */
function typeOf(value: Json): string {
  if (Array.isArray(value)) return `readonly [${value.map((item: Json) => typeOf(item)).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `readonly ${name}: ${typeOf(field)}`);
  return `{ ${fields.join("; ")} }`;
}

function fail(message: string): never {
  throw new Error(message);
}
