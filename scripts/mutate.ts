// Mutation testing of the contracts: how many small faults the contract tests notice.
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { readContracts } from "./lib/solidity/ast.ts";
import type { Sources } from "./lib/solidity/ast.ts";
import { diff, findMutants, sample } from "./lib/solidity/mutants.ts";
import type { Mutant } from "./lib/solidity/mutants.ts";
import { reportOf, staleExplanations } from "./lib/solidity/mutation-report.ts";
import type { Explanation, Report } from "./lib/solidity/mutation-report.ts";
import { runMutants } from "./lib/solidity/mutation-run.ts";
import type { Result } from "./lib/solidity/mutation-run.ts";

const help = `Usage: npm run mutate -- [--sample N] [--seed S] [--file PART] [--min 90] [--list] [--json] [--help]

Changes the contracts in one place at a time (mocks excepted) and runs the contract tests: TypeScript first, which stop at the
first failure, then Solidity with fewer fuzz runs. Prints the mutants that no test noticed, and the score: killed of all that
compile. Many mutants share one build and are switched at run time. Fails below --min percent, and when a survivor is not
explained in test/contracts/mutants.json. Results are kept in cache/mutate until a contract or one of its tests changes: the
same command goes on where it was stopped.

  --sample N    N mutants drawn by --seed (default: all, which takes hours)
  --seed S      another sample (default 1)
  --file PART   only files whose name contains PART
  --min N       the least score in percent (default 90)
  --list        print the mutants, run nothing
  --json        one JSON object on the last line instead of text

Example: npm run mutate -- --sample 60 --seed 2 --file libraries/`;

const root = join(import.meta.dirname, "..");

const { values } = parseArgs({
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    file: { type: "string", default: "" },
    min: { type: "string", default: "90" },
    list: { type: "boolean" },
    json: { type: "boolean" },
    help: { type: "boolean" },
  },
});
if (values.help === true) console.log(help);
else await main();

async function main(): Promise<void> {
  const sources = readContracts();
  const all = findMutants(sources);
  const chosen = choose(all);
  if (values.list === true) {
    for (const mutant of chosen) console.log(`${title(mutant)}\n${diff(sources[mutant.file]!, mutant)}`);
    return;
  }
  const file = resultsFile(sources);
  const known = readResults(file);
  const pending = chosen.filter(({ id }) => !known.has(id));
  console.error(`${chosen.length} of ${all.length} mutants, ${chosen.length - pending.length} known from before`);
  let done = 0;
  const onResult = (result: Result): void => {
    known.set(result.id, result);
    appendFileSync(file, `${JSON.stringify(result)}\n`);
    done++;
    const mutant = all[result.id - 1]!;
    console.error(`${done}/${pending.length} ${result.verdict} by ${result.by}, ${result.seconds} s: ${title(mutant)}`);
  };
  // Gas figures change with the switches.
  const mochaFiles = globSync("test/contracts/*.test.ts", { cwd: root, exclude: ["**/draw-cost.test.ts"] }).toSorted();
  await runMutants({ sources, folder: join(root, "cache/mutate/build"), mochaFiles, onResult }, pending);

  const path = join(root, "test/contracts/mutants.json");
  const { survivors: explanations } = JSON.parse(readFileSync(path, "utf8")) as { survivors: readonly Explanation[] };
  const report = reportOf(sources, chosen, [...known.values()], explanations);
  const stale = staleExplanations(sources, all, explanations);
  print(report, stale);
  const min = wholeNumber("min", values.min);
  const explained = report.survivors.every(({ why }) => why !== undefined);
  process.exitCode = report.score >= min && explained && stale.length === 0 ? 0 : 1;
}

function choose(all: readonly Mutant[]): readonly Mutant[] {
  const named = all.filter(({ file }) => file.includes(values.file));
  if (named.length === 0) throw new Error(`Cannot find a mutant in a file like "${values.file}"`);
  if (values.sample === undefined) return named;
  return sample(named, wholeNumber("sample", values.sample), wholeNumber("seed", values.seed));
}

function wholeNumber(option: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`Give --${option} as a whole number, not "${text}"`);
  return Number(text);
}

function title({ id, file, line, operator }: Mutant): string {
  return `#${id} ${file}:${line} ${operator}`;
}

/** Named by everything that decides a result. */
function resultsFile(sources: Sources): string {
  const hash = createHash("sha256").update(JSON.stringify(sources));
  const files = [
    "{test/contracts,contracts/mocks}/**/*.{sol,ts}",
    "test/vectors/*",
    "scripts/lib/*.ts",
    "scripts/lib/solidity/*",
  ];
  for (const file of globSync(files, { cwd: root }).toSorted())
    hash.update(file).update(readFileSync(join(root, file)));
  const folder = join(root, "cache/mutate");
  mkdirSync(folder, { recursive: true });
  return join(folder, `results-${hash.digest("hex").slice(0, 16)}.jsonl`);
}

function readResults(file: string): Map<number, Result> {
  if (!existsSync(file)) return new Map();
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  return new Map(lines.map((line) => JSON.parse(line) as Result).map((result) => [result.id, result]));
}

function print(report: Report, stale: readonly Explanation[]): void {
  if (values.json === true) {
    console.log(JSON.stringify({ ...report, stale }));
    return;
  }
  for (const { id, at, operator, diff: lines, why } of report.survivors) {
    console.log(`survivor #${id} ${at} ${operator}\n  ${lines.join("\n  ")}\n  ${why ?? "not explained"}`);
  }
  for (const entry of stale) console.log(`no such mutant, ${entry.file}\n  ${entry.diff.join("\n  ")}`);
  const { tried, killed, survived, invalid, timeouts, score } = report;
  console.log(
    `${tried} tried: ${killed} killed (${timeouts} by time-out), ${survived} survived, ${invalid} do not compile`,
  );
  console.log(`score ${score.toFixed(1)} %`);
}
