// Measures lines and branches of the contracts that their own tests cover, with a floor.
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

import { between, scriptCommand } from "./shared/arguments.ts";
import { readContracts } from "./solidity/compiler.ts";
import { addProbes, percent, probeLibrary, probeSource, sum, summarize } from "./solidity/probes.ts";
import type { FileCoverage, Part } from "./solidity/probes.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "cache/coverage");
/** Folder where Hardhat leaves the hits: one folder for each of its test runners. */
const data = join(root, "coverage/data");
/** Fewer cases than in test:contracts: probes make each several times as slow. */
const effort = { FUZZ_RUNS: "64", INVARIANT_RUNS: "2" };

const flags = scriptCommand(
  "coverage",
  "Runs the Solidity and TypeScript tests of the contracts (test/contracts) on contracts with probes, and prints lines and branches of each file. Fails below --min percent of all lines or of all branches. Probes make tests that judge gas fail: failed tests are named and can only lower the figures; npm run test:contracts judges them.",
)
  .option("--min <percent>", "the floor", between(0, 100), 98)
  .option("--json", "print one JSON object on the last line instead of a table")
  .addHelpText(
    "after",
    `
line     one on which a statement begins; covered when every statement that begins on it ran
branch   one result (true or false) of a condition: of if, loops, require, assert and ?:, and the left side of && and ||
Inline assembly counts as one statement; what happens inside is not measured.

Example:
  npm run -s coverage -- --json | tail -n 1
`,
  )
  .parse()
  .opts<{ readonly min: number; readonly json?: true }>();
main(flags.min);

function main(min: number): void {
  const { sources, probes } = addProbes(readContracts());
  rmSync(data, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "sources.json"), JSON.stringify({ ...sources, [probeLibrary.file]: probeSource }));
  const failedTests = runTests();
  const files = summarize(probes, readHits());
  const total = { lines: sum(files.map(({ lines }) => lines)), branches: sum(files.map(({ branches }) => branches)) };
  const ok = percent(total.lines) >= min && percent(total.branches) >= min;
  if (flags.json === true) console.log(JSON.stringify({ ok, failedTests, min, ...total, files }));
  else print(files, total, min);
  for (const name of failedTests) console.error(`failed with probes: ${name}`);
  process.exitCode = ok ? 0 : 1;
}

/** Names of the tests that failed. */
function runTests(): readonly string[] {
  const args = ["--config", "scripts/solidity/hardhat.config.ts", "--coverage", "test"];
  const child = spawnSync(join(root, "node_modules/.bin/hardhat"), args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    env: { ...process.env, ...effort, CONCLAVE_INSTRUMENTED: folder },
  });
  const output = stripVTControlCharacters(`${child.stdout}${child.stderr}`);
  if (!/^\d+ passing/m.test(output)) throw new Error(`Hardhat ran no tests:\n${output}`);
  // A number replaces the check mark of a failed test; the summaries below repeat these lines with less indentation.
  return [...output.matchAll(/^ {4,}\d+\) (.+)$/gm)].map(([, name]) => name!);
}

function readHits(): ReadonlySet<number> {
  const files = globSync("*/*.json", { cwd: data });
  if (files.length === 0) throw new Error("Hardhat left no hits: see its output above");
  const tags = files.flatMap((file) => Object.keys(JSON.parse(readFileSync(join(data, file), "utf8")) as object));
  return new Set(tags.map((tag) => Number(`0x${tag}`)));
}

function print(files: readonly FileCoverage[], total: { lines: Part; branches: Part }, min: number): void {
  const cell = (part: Part): string =>
    `${percent(part).toFixed(1).padStart(6)} % ${`${part.covered}/${part.total}`.padStart(9)}`;
  const row = (name: string, lines: Part, branches: Part): void => {
    console.log(`${name.padEnd(48)}${cell(lines)}${cell(branches).padStart(20)}`);
  };
  console.log(`${"file".padEnd(48)}${"lines".padStart(18)}${"branches".padStart(20)}`);
  for (const { file, lines, branches } of files) row(file, lines, branches);
  row("all", total.lines, total.branches);
  const uncovered = files.flatMap((file) => file.uncovered);
  if (uncovered.length > 0) console.log(`\nNot covered:\n  ${uncovered.join("\n  ")}`);
  console.log(`\nThe floor is ${min} % of lines and of branches.`);
}
