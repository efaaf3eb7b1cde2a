// The package entry `@conclave/contracts/abi`: the ABIs of the contracts, every custom error, and where the contracts are deployed.
// It is plain JavaScript, because Node strips no types from installed packages; it needs no Solidity compiler at run time.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LOCAL_CHAINS } from "../../agents/adapters/chain/beacon.ts";
import { compile, contractFiles, readSource, type AbiItem, type AbiParameter } from "./compiler.ts";

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

/** How the files spell items and parameters, which keeps the package small: as functions, and as types of the same names. */
const SHORT_VALUES = `/* @__NO_SIDE_EFFECTS__ */ const P = (type, name) => ({ name, type });
/* @__NO_SIDE_EFFECTS__ */ const T = (type, name, components) => ({ name, type, components });
/* @__NO_SIDE_EFFECTS__ */ const I = (parameter) => ({ ...parameter, indexed: true });
/* @__NO_SIDE_EFFECTS__ */ const D = (parameter) => ({ ...parameter, indexed: false });
/* @__NO_SIDE_EFFECTS__ */ const F = (name, inputs, outputs, stateMutability) => ({
  type: "function",
  name,
  inputs,
  outputs,
  stateMutability,
});
/* @__NO_SIDE_EFFECTS__ */ const E = (name, inputs) => ({ type: "event", name, inputs, anonymous: false });
/* @__NO_SIDE_EFFECTS__ */ const R = (name, inputs) => ({ type: "error", name, inputs });
`;

const SHORT_TYPES = `type P<Type, Name> = { readonly name: Name; readonly type: Type };
type T<Type, Name, Components> = P<Type, Name> & { readonly components: Readonly<Components> };
type I<Parameter> = Parameter & { readonly indexed: true };
type D<Parameter> = Parameter & { readonly indexed: false };
type F<Name, Inputs, Outputs, Mutability> = {
  readonly type: "function";
  readonly name: Name;
  readonly inputs: Readonly<Inputs>;
  readonly outputs: Readonly<Outputs>;
  readonly stateMutability: Mutability;
};
type E<Name, Inputs> = {
  readonly type: "event";
  readonly name: Name;
  readonly inputs: Readonly<Inputs>;
  readonly anonymous: false;
};
type R<Name, Inputs> = { readonly type: "error"; readonly name: Name; readonly inputs: Readonly<Inputs> };
export {};
`;

/** The text of each generated file, by its path. */
export function generateAbi(): Readonly<Record<string, string>> {
  const constants = readConstants();
  const values = constants.map(({ name, items }) => `export const ${name} = [\n${lines(items, "()")}];\n`);
  const types = constants.map(
    ({ name, summary, items }) =>
      `/** ${summary} */\nexport declare const ${name}: readonly [\n${lines(items, "<>")}];\n`,
  );
  const deployments = `export const deployments = ${JSON.stringify(readDeployments(), null, 2)};\n`;
  return {
    "contracts/abi/index.js": [NOTICE, SHORT_VALUES, ...values, deployments].join("\n"),
    "contracts/abi/index.d.ts": [NOTICE, SHORT_TYPES, ...types, DEPLOYMENT_TYPE].join("\n"),
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
    return { name, summary, items: distinct(items).filter((item) => item.type !== "constructor") };
  });
  const all = own.flatMap((file) => Object.values(contracts[file] ?? {}).flatMap(({ abi }) => abi));
  const items = distinct(all.filter(({ type }) => type === "error"))
    .map((item) => JSON.stringify(item))
    .toSorted()
    .map((text) => JSON.parse(text) as AbiItem);
  return [...constants, { name: "errorsAbi", summary: "Every custom error of every contract.", items }];
}

/** Each item once, without the names of Solidity's own types, which no encoding needs. */
function distinct(items: readonly AbiItem[]): readonly AbiItem[] {
  const texts = items.map((item) =>
    JSON.stringify(item, (key, value: unknown) => (key === "internalType" ? undefined : value)),
  );
  return [...new Set(texts)].map((text) => JSON.parse(text) as AbiItem);
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

/** What surrounds the arguments of a function, or of a type. */
type Brackets = "()" | "<>";

function lines(items: readonly AbiItem[], brackets: Brackets): string {
  return items.map((item) => `  ${itemAs(item, brackets)},\n`).join("");
}

function itemAs({ type, name, inputs = [], outputs = [], stateMutability }: AbiItem, brackets: Brackets): string {
  const parts = [JSON.stringify(name), listAs(inputs, brackets)];
  if (type === "error") return applied("R", parts, brackets);
  if (type === "event") return applied("E", parts, brackets);
  if (type !== "function") return fail(`Spell ABI items of type ${type}`);
  return applied("F", [...parts, listAs(outputs, brackets), JSON.stringify(stateMutability)], brackets);
}

function listAs(parameters: readonly AbiParameter[], brackets: Brackets): string {
  return `[${parameters.map((parameter) => parameterAs(parameter, brackets)).join(",")}]`;
}

function parameterAs({ type, name, components, indexed }: AbiParameter, brackets: Brackets): string {
  const parts = [JSON.stringify(type), JSON.stringify(name)];
  const parameter =
    components === undefined
      ? applied("P", parts, brackets)
      : applied("T", [...parts, listAs(components, brackets)], brackets);
  if (indexed === undefined) return parameter;
  return applied(indexed ? "I" : "D", [parameter], brackets);
}

function applied(name: string, parts: readonly string[], brackets: Brackets): string {
  const [open, close] = brackets;
  return `${name}${open}${parts.join(",")}${close}`;
}

function fail(message: string): never {
  throw new Error(message);
}
