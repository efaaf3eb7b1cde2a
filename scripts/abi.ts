// Writes abi/index.js and abi/index.d.ts, the package entry `conclave/abi`: the ABIs of the contracts, every custom error, and where the contracts are
// deployed. Plain JavaScript, because Node strips no types from installed packages; it needs no Solidity compiler at run time.
//   node scripts/abi.ts           writes the files
//   node scripts/abi.ts --check   exits 1 when they are not what the contracts and deployments/*.json yield
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

interface Solc {
  compile(input: string, callbacks: { import: (path: string) => { contents: string } | { error: string } }): string;
}

interface AbiItem {
  readonly type: string;
  readonly name?: string;
}

type Contracts = Readonly<Record<string, Readonly<Record<string, { readonly abi: readonly AbiItem[] }>>>>;

interface SolcOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts?: Contracts;
}

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

interface Constant {
  readonly name: string;
  readonly summary: string;
  readonly items: readonly AbiItem[];
}

const projectRoot = dirname(import.meta.dirname);

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

/** Their addresses mean nothing to anybody else. */
const LOCAL_CHAINS: readonly number[] = [1_337, 31_337];

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
    "abi/index.js": [NOTICE, ...values, deployments].join("\n"),
    "abi/index.d.ts": [NOTICE, ...types, DEPLOYMENT_TYPE].join("\n"),
  };
}

function readConstants(): readonly Constant[] {
  const own = globSync("contracts/**/*.sol", { cwd: projectRoot, exclude: ["contracts/mocks/**"] }).toSorted();
  const files = new Set([...own, ...modules.flatMap(({ sources }) => sources.map(([file]) => file))]);
  const contracts = compileAbis([...files]);
  const constants = modules.map(({ name, summary, sources }) => {
    const items = sources.flatMap(
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

function compileAbis(files: readonly string[]): Contracts {
  const solc = createRequire(import.meta.url)("solc") as Solc;
  const input = {
    language: "Solidity",
    sources: Object.fromEntries(files.map((file) => [file, { content: readSource(file) }])),
    settings: { outputSelection: { "*": { "*": ["abi"] } } },
  };
  const resolve = (path: string): { contents: string } | { error: string } => {
    try {
      return { contents: readSource(path) };
    } catch (error) {
      return { error: String(error) };
    }
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: resolve })) as SolcOutput;
  const failures = output.errors?.filter(({ severity }) => severity === "error") ?? [];
  if (failures.length > 0) fail(failures.map(({ formattedMessage }) => formattedMessage).join("\n"));
  return output.contracts ?? {};
}

function readSource(path: string): string {
  const own = join(projectRoot, path);
  return readFileSync(existsSync(own) ? own : join(projectRoot, "node_modules", path), "utf8");
}

function readDeployments(): Readonly<Record<number, Json>> {
  const files = globSync("deployments/*.json", { cwd: projectRoot });
  const found = files.map(
    (file) => JSON.parse(readFileSync(join(projectRoot, file), "utf8")) as Record<string, Json> & { chainId: number },
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

/** What TypeScript would infer of the value `as const`. */
function typeOf(value: Json): string {
  if (Array.isArray(value)) return `readonly [${value.map((item: Json) => typeOf(item)).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `readonly ${name}: ${typeOf(field)}`);
  return `{ ${fields.join("; ")} }`;
}

function fail(message: string): never {
  throw new Error(message);
}

function main(): void {
  const check = process.argv.includes("--check");
  for (const [path, text] of Object.entries(generateAbi())) {
    const target = join(projectRoot, path);
    if (!check) writeFileSync(target, text);
    else if (!existsSync(target) || readFileSync(target, "utf8") !== text) {
      console.error(`${path} is out of date: run \`node scripts/abi.ts\`.`);
      process.exitCode = 1;
    }
  }
}

if (import.meta.main) main();
