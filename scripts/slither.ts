// Analyzes the contracts with Slither from PyPI and the compiler that Hardhat uses.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { scriptCommand } from "./shared/arguments.ts";
import { evmVersion, readContracts } from "./solidity/compiler.ts";
import { findSuppressions, impacts, problemsIn, readFindings } from "./solidity/slither-findings.ts";
import type { Finding, Suppression } from "./solidity/slither-findings.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "cache/slither");
const environment = join(folder, "venv");
const requirements = join(root, "scripts/solidity/slither-requirements.txt");
/** File that records what is installed; written last, so that a broken installation is made again. */
const installed = join(folder, "installed.txt");

const flags = scriptCommand(
  "slither",
  "Analyzes the contracts (not packages) with Slither and prints the findings by severity. Fails on a finding of high or medium severity and on a suppression without an argument.",
)
  .option("--json", "print one JSON object on the last line instead of tables")
  .addHelpText(
    "after",
    `
To suppress a finding, write in the line above it
  // slither-disable-next-line CHECK: why it is no bug here
Needs Python >= 3.10 with venv. The first run installs Slither from PyPI into cache/slither/venv, in the versions of
scripts/solidity/slither-requirements.txt; later runs need no network.

Example:
  npm run -s slither -- --json | tail -n 1
`,
  )
  .parse()
  .opts<{ readonly json?: true }>();
main();

function main(): void {
  ensureSlither();
  const sources = readContracts();
  const findings = readFindings(analyze(sources));
  const suppressions = findSuppressions(sources);
  const problems = problemsIn(findings, suppressions);
  if (flags.json === true) {
    console.log(JSON.stringify({ ok: problems.length === 0, counts: countOf(findings), findings, suppressions }));
  } else {
    print(findings, suppressions, problems);
  }
  process.exitCode = problems.length === 0 ? 0 : 1;
}

function ensureSlither(): void {
  const wanted = readFileSync(requirements, "utf8");
  if (existsSync(installed) && readFileSync(installed, "utf8") === wanted) return;
  rmSync(environment, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  console.error("Installing Slither into cache/slither/venv (once, about a minute) ...");
  const pip = join(environment, "bin/pip");
  start("python3", ["-m", "venv", environment], "Install Python 3.10 or newer with venv (Debian: python3-venv)");
  const install = ["install", "--quiet", "--disable-pip-version-check", "--requirement", requirements];
  start(pip, install, "PyPI must be reachable the first time; then run the same command again");
  writeFileSync(installed, wanted);
}

function start(file: string, args: readonly string[], advice: string): void {
  const child = spawnSync(file, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (child.status === 0) return;
  const reason = child.error?.message ?? `exit code ${child.status}`;
  console.error(`Cannot run ${file} ${args[0]} (${reason}). ${advice}.`);
  process.exit(1);
}

/** Returns Slither's JSON. Slither ends with an error code if it finds anything. */
function analyze(sources: Readonly<Record<string, string>>): string {
  const outputs = ["abi", "devdoc", "userdoc", "evm.bytecode", "evm.deployedBytecode"];
  const settings = {
    evmVersion,
    optimizer: { enabled: true, runs: 200 },
    outputSelection: { "*": { "*": outputs, "": ["ast"] } },
  };
  const content = Object.fromEntries(Object.entries(sources).map(([file, text]) => [file, { content: text }]));
  const [input, output] = [join(folder, "input.json"), join(folder, "output.json")];
  writeFileSync(input, JSON.stringify({ language: "Solidity", sources: content, settings }));
  rmSync(output, { force: true });
  const compiler = ["--compile-force-framework", "Solc-json", "--solc", "scripts/solidity/solc.mjs"];
  const args = [input, ...compiler, "--filter-paths", "node_modules", "--json", output];
  const child = spawnSync(join(environment, "bin/slither"), args, { cwd: root, encoding: "utf8" });
  if (!existsSync(output)) throw new Error(`Slither left no report:\n${child.stdout}${child.stderr}`);
  return readFileSync(output, "utf8");
}

function countOf(findings: readonly Finding[]): Record<string, number> {
  return Object.fromEntries(impacts.map((name) => [name, findings.filter(({ impact }) => impact === name).length]));
}

function print(findings: readonly Finding[], suppressions: readonly Suppression[], problems: readonly string[]): void {
  console.table(findings.map(({ impact, check, at }) => ({ impact, check, at })));
  for (const { at, checks, why } of suppressions) console.log(`suppressed ${checks} ${at}: ${why}`);
  const counts = Object.entries(countOf(findings)).map(([impact, count]) => `${count} ${impact.toLowerCase()}`);
  console.log(`\n${counts.join(", ")}; ${suppressions.length} suppressed`);
  for (const problem of problems) console.error(`\n${problem}`);
}
