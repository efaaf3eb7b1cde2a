// Tests the contract tests: how many small changes of the contracts they notice.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Option } from "commander";

import { ConclaveError } from "../agents/core/errors.ts";
import { between, endedBy, scriptCommand } from "./shared/arguments.ts";
import { readContracts } from "./solidity/compiler.ts";
import type { Sources } from "./solidity/compiler.ts";
import { diff, findMutants, sample } from "./solidity/mutants.ts";
import type { Mutant } from "./solidity/mutants.ts";
import { explanationOf, reportOf, staleExplanations } from "./solidity/mutation-report.ts";
import type { Explanation, Report } from "./solidity/mutation-report.ts";
import { keepResult, readResults, stateOfTests } from "./solidity/mutation-results.ts";
import { runMutants } from "./solidity/mutation-run.ts";
import type { Result, Run } from "./solidity/mutation-run.ts";
import { mutantsOf, plantedReport } from "./solidity/planted.ts";
import type { Fault, PlantedReport } from "./solidity/planted.ts";

interface Flags {
  readonly sample?: number;
  readonly seed: number;
  readonly file: string;
  readonly limit?: number;
  readonly min: number;
  readonly planted?: true;
  readonly list?: true;
  readonly json?: true;
}

const root = join(import.meta.dirname, "..");

const flags = scriptCommand(
  "mutate",
  "Changes the contracts in one place at a time and runs the contract tests that reach the place, the likeliest to notice first, until one fails. Prints the mutants that no test noticed, and the score of each file: the killed share of all that compile. All mutants share one build and are switched at run time. Fails below --min percent, and if a survivor is not explained in test/contracts/mutants.json. Tests that fail with no mutant switched on, because they judge gas or the size of code, are named and left out.",
)
  .addOption(
    new Option("--sample <count>", "number of mutants, drawn by --seed (default: all)")
      .argParser(between(1, 1_000_000))
      .conflicts("planted"),
  )
  .option("--seed <number>", "another sample", between(0, 999_999_999), 1)
  .option("--file <part>", "only files whose name contains it", "")
  .option(
    "--limit <seconds>",
    "seconds of tests for each mutant; one that outlives them stays open, as a survivor",
    between(1, 86_400),
  )
  .option("--min <percent>", "the least score", between(0, 100), 90)
  .option(
    "--planted",
    "only the faults of test/contracts/planted.json, each tried with the stateful invariants alone; fails if one survives or its text is not in its contract any more",
  )
  .option("--list", "print the mutants, run nothing")
  .option("--json", "print one JSON object on the last line instead of text")
  .addHelpText(
    "after",
    `
Results are kept in cache/mutate: the same command continues where it was stopped. A killed mutant counts as killed while its
file stays as it is: delete cache/mutate after tests were removed or loosened. A survivor is tried again when any contract or
test has changed. Explained mutants count as survivors and do not run. Every run ends with the planted faults.

Examples:
  npm run mutate -- --sample 60 --seed 2 --file libraries/
  npm run mutate -- --planted
`,
  )
  .parse()
  .opts<Flags>();
await main().catch((error: unknown) => {
  process.exitCode = endedBy(error);
});

async function main(): Promise<void> {
  const sources = readContracts();
  // At once: to find all mutants takes many seconds.
  requireSome(Object.keys(sources).filter((file) => file.includes(flags.file)));
  const { faults } = read("planted.json") as { faults: readonly Fault[] };
  const planted = mutantsOf(sources, faults);
  const plantedHere = planted.filter(({ file }) => file.includes(flags.file));
  const all = flags.planted === true ? [] : findMutants(sources);
  const named = all.filter(({ file }) => file.includes(flags.file));
  requireSome(flags.planted === true ? plantedHere : named);
  const chosen = flags.sample === undefined ? named : sample(named, flags.sample, flags.seed);
  if (flags.list === true) {
    for (const mutant of flags.planted === true ? plantedHere : chosen)
      console.log(`${title(mutant)}\n${diff(sources[mutant.file]!, mutant)}`);
    return;
  }
  const { survivors: explanations } = read("mutants.json") as { survivors: readonly Explanation[] };
  const explained = chosen.filter((mutant) => explanationOf(sources, mutant, explanations) !== undefined);
  const state = stateOfTests();
  const known = readResults(sources, all, state, flags.limit !== undefined);
  for (const { id } of explained) known.set(id, { id, verdict: "survived", by: "nothing", seconds: 0 });
  const pending = chosen.filter(({ id }) => !known.has(id));
  console.error(`${chosen.length} of ${all.length} mutants, ${chosen.length - pending.length} known from before`);
  const results = await tryMutants(sources, all, pending, {
    folder: join(root, "cache/mutate/build"),
    tests: "test/contracts/*.{test.ts,t.sol}",
    effort: { FUZZ_RUNS: "32", INVARIANT_RUNS: "1" },
    leastTimeoutMs: 60_000,
    onResult: (result) => {
      keepResult(sources, all[result.id - 1]!, result, state);
    },
  });
  // Never known from before: they show what the invariants of today notice.
  const plantedResults = await tryMutants(sources, planted, plantedHere, {
    folder: join(root, "cache/mutate/planted"),
    tests: "test/contracts/*Invariants.t.sol",
    prefix: "invariant_",
    effort: { FUZZ_RUNS: "1", INVARIANT_RUNS: "8" },
    leastTimeoutMs: 600_000,
    onResult: () => undefined,
  });

  const report = reportOf(sources, chosen, [...known.values(), ...results], explanations);
  const faultReport = plantedReport(faults, plantedResults);
  const stale = flags.planted === true ? [] : staleExplanations(sources, all, explanations);
  print(report, stale, faultReport);
  const isExplained = report.survivors.every(({ why }) => why !== undefined) && stale.length === 0;
  const ok = report.score >= flags.min && isExplained && faultReport.killed === faultReport.tried;
  process.exitCode = ok ? 0 : 1;
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(join(root, "test/contracts", name), "utf8"));
}

/** Tries the pending mutants, and tells how it goes. */
async function tryMutants(
  sources: Sources,
  all: readonly Mutant[],
  pending: readonly Mutant[],
  how: Omit<Run, "sources" | "limit">,
): Promise<readonly Result[]> {
  const { limit = Infinity } = flags;
  const results: Result[] = [];
  const onResult = (result: Result): void => {
    results.push(result);
    how.onResult(result);
    const progress = `${results.length}/${pending.length} ${result.verdict} by ${result.by}, ${result.seconds} s`;
    console.error(`${progress}: ${title(all[result.id - 1]!)}`);
  };
  await runMutants({ ...how, sources, limit, onResult }, all, new Set(pending.map(({ id }) => id)));
  return results;
}

/** A run of nothing would report a full score. */
function requireSome(named: readonly unknown[]): void {
  if (named.length > 0) return;
  const what = flags.planted === true ? "planted fault" : "mutant";
  throw new ConclaveError(
    "USAGE",
    `Choose mutants: no ${what} stands in a file whose name contains --file "${flags.file}"; --list without --file shows all of them`,
    { file: flags.file },
  );
}

function title({ id, file, line, operator }: Mutant): string {
  return `#${id} ${file}:${line} ${operator}`;
}

function print(report: Report, stale: readonly Explanation[], planted: PlantedReport): void {
  if (flags.json === true) {
    console.log(JSON.stringify(flags.planted === true ? { planted } : { ...report, stale, planted }));
    return;
  }
  if (flags.planted !== true) printReport(report, stale);
  console.log(`planted faults: ${planted.killed} of ${planted.tried} killed by the stateful invariants alone`);
  for (const { name, file, verdict, by } of planted.faults)
    console.log(`  ${verdict} by ${by.replace("test/contracts/", "")}: ${name} (${file.replace("contracts/", "")})`);
}

function printReport(report: Report, stale: readonly Explanation[]): void {
  for (const { id, at, operator, diff: lines, why } of report.survivors) {
    console.log(`survivor #${id} ${at} ${operator}\n  ${lines.join("\n  ")}\n  ${why ?? "not explained"}`);
  }
  for (const entry of stale) console.log(`no such mutant, ${entry.file}\n  ${entry.diff.join("\n  ")}`);
  const numbers = ["tried", "killed", "survived", "open", "invalid"] as const;
  console.log(`${"".padEnd(48)}${numbers.map((name) => name.padStart(9)).join("")}    score`);
  for (const row of [...report.files, { ...report, file: "all" }]) {
    const cells = numbers.map((name) => String(row[name]).padStart(9)).join("");
    console.log(`${row.file.padEnd(48)}${cells}${row.score.toFixed(1).padStart(7)} %`);
  }
}
