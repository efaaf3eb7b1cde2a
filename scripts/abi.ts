// Writes agents/adapters/chain/abi.ts from the contracts, so that an agent needs no Solidity compiler at run time.
//   node scripts/abi.ts           writes the file
//   node scripts/abi.ts --check   exits 1 when the file is not what the contracts yield
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

interface Solc {
  compile(input: string, callbacks: { import: (path: string) => { contents: string } | { error: string } }): string;
}

interface AbiItem {
  readonly type: string;
  readonly name?: string;
}

interface SolcOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts?: Readonly<Record<string, Readonly<Record<string, { readonly abi: readonly AbiItem[] }>>>>;
}

const projectRoot = dirname(import.meta.dirname);
const target = join(projectRoot, "agents/adapters/chain/abi.ts");

/** The exported constant and the contracts whose ABIs it joins. */
const modules: readonly {
  readonly name: string;
  readonly sources: readonly (readonly [file: string, contract: string])[];
}[] = [
  { name: "decisionOracleAbi", sources: [["contracts/DecisionOracle.sol", "DecisionOracle"]] },
  { name: "agentRegistryAbi", sources: [["contracts/AgentRegistry.sol", "AgentRegistry"]] },
  { name: "slasherAbi", sources: [["contracts/Slasher.sol", "Slasher"]] },
  {
    name: "tokenAbi",
    sources: [
      ["@openzeppelin/contracts/token/ERC20/IERC20.sol", "IERC20"],
      ["@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol", "IERC20Permit"],
      ["@openzeppelin/contracts/interfaces/IERC5267.sol", "IERC5267"],
      ["@openzeppelin/contracts/interfaces/draft-IERC6093.sol", "IERC20Errors"],
    ],
  },
];

/** The text of agents/adapters/chain/abi.ts. */
export function generateAbi(): string {
  const contracts = compileAbis();
  const constants = modules.map(({ name, sources }) => {
    const items = sources.flatMap(
      ([file, contract]) => contracts[file]?.[contract]?.abi ?? fail(`Find ${contract} in ${file}`),
    );
    const lines = items.filter((item) => item.type !== "constructor").map((item) => `  ${JSON.stringify(item)},`);
    return `// prettier-ignore\nexport const ${name} = [\n${lines.join("\n")}\n] as const;\n`;
  });
  return `// Generated from the contracts by scripts/abi.ts; \`npm run check\` compares. Do not edit.\n\n${constants.join("\n")}`;
}

function compileAbis(): NonNullable<SolcOutput["contracts"]> {
  const solc = createRequire(import.meta.url)("solc") as Solc;
  const files = [...new Set(modules.flatMap(({ sources }) => sources.map(([file]) => file)))];
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

function fail(message: string): never {
  throw new Error(message);
}

function main(): void {
  const text = generateAbi();
  if (!process.argv.includes("--check")) {
    writeFileSync(target, text);
    return;
  }
  if (existsSync(target) && readFileSync(target, "utf8") === text) return;
  console.error("agents/adapters/chain/abi.ts is out of date: run `node scripts/abi.ts`.");
  process.exitCode = 1;
}

if (import.meta.main) main();
