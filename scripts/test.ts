// Runs the test suites and ends with one table.
//   node scripts/test.ts                            every suite but subgraph and kubo, compact: only failures are shown in full
//   node scripts/test.ts core adapters              these suites, every test by name
//   node scripts/test.ts core test/core/x.test.ts   these files of one suite
//   node scripts/test.ts core --grep "pattern"      the tests whose name matches
import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { dot, spec } from "node:test/reporters";
import { parseArgs, stripVTControlCharacters, styleText } from "node:util";

const suites = ["core", "adapters", "sim", "lab", "models", "contracts", "integration", "subgraph", "kubo"] as const;
type Suite = (typeof suites)[number];

interface Outcome {
  readonly suite: Suite;
  readonly ok: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly durationMs: number;
}

interface Selection {
  readonly files: readonly string[];
  readonly grep: string | undefined;
  readonly compact: boolean;
}

const root = join(import.meta.dirname, "..");
/** A test that takes longer than this hangs. */
const testTimeoutMs = 300_000;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { grep: { type: "string" } } });
const named = suites.filter((suite) => positionals.includes(suite));
const files = positionals.filter((name) => !suites.some((suite) => suite === name));
if (files.length > 0 && named.length !== 1) throw new Error(`Name one suite before the files: ${suites.join(", ")}`);

const outcomes: Outcome[] = [];
// The subgraph needs linux-x64 and a minute to itself, Kubo needs Go.
const unnamed = suites.filter((name) => name !== "subgraph" && name !== "kubo");
for (const suite of named.length > 0 ? named : unnamed) {
  const selection = { files, grep: values.grep, compact: named.length === 0 };
  outcomes.push(await (suite === "contracts" ? runContracts(selection) : runNode(suite, selection)));
}
report(outcomes);
process.exitCode = outcomes.every((outcome) => outcome.ok) ? 0 : 1;

function folderOf(suite: Suite): string {
  return suite === "lab" ? "lab/test" : `test/${suite}`;
}

/** Core, adapters and integration: Node's own runner on TypeScript as it stands. */
async function runNode(suite: Suite, selection: Selection): Promise<Outcome> {
  const selected =
    selection.files.length > 0 ? selection.files : globSync(`${folderOf(suite)}/**/*.test.ts`, { cwd: root });
  const outcome = { suite, ok: true, passed: 0, failed: 0, skipped: 0, durationMs: 0 };
  if (selected.length === 0) return outcome;

  process.stdout.write(`${styleText("bold", suite)}\n`);
  const stream = run({
    cwd: root,
    files: selected.map((file) => resolve(root, file)).toSorted(),
    // Integration tests measure time-outs and start whole devnets, those of the subgraph a database: one at a time.
    concurrency: suite === "integration" || suite === "subgraph" ? 1 : availableParallelism(),
    timeout: testTimeoutMs,
    ...(selection.grep === undefined ? {} : { testNamePatterns: [new RegExp(selection.grep)] }),
  });
  const errors: string[] = [];
  // A file that cannot even be loaded says why only here.
  stream.on("test:stderr", ({ message }) => errors.push(message));
  stream.on("test:summary", (summary) => {
    if (summary.file !== undefined) return;
    const { counts } = summary;
    Object.assign(outcome, {
      ok: summary.success,
      passed: counts.passed,
      failed: counts.tests - counts.passed - counts.skipped - counts.todo,
      skipped: counts.skipped + counts.todo,
      durationMs: summary.duration_ms,
    });
  });
  const output = selection.compact ? stream.compose(dot) : stream.compose(new spec());
  output.pipe(process.stdout, { end: false });
  await finished(output);
  if (selection.compact && !outcome.ok) process.stdout.write(errors.join(""));
  return outcome;
}

/** Contracts: Solidity tests (unit, fuzz, invariant) and mocha tests, both run by Hardhat. */
async function runContracts(selection: Selection): Promise<Outcome> {
  process.stdout.write(`${styleText("bold", "contracts")}\n`);
  const started = performance.now();
  const grep = selection.grep === undefined ? [] : ["--grep", selection.grep];
  const child = spawn(join(root, "node_modules/.bin/hardhat"), ["test", ...selection.files, ...grep], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}) },
  });
  let output = "";
  const collect = (chunk: string): void => {
    output += chunk;
    if (!selection.compact) process.stdout.write(chunk);
  };
  child.stdout.setEncoding("utf8").on("data", collect);
  child.stderr.setEncoding("utf8").on("data", collect);
  const ok = await new Promise<boolean>((settle, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      settle(code === 0);
    });
  });
  if (selection.compact && !ok) process.stdout.write(output);
  const durationMs = performance.now() - started;
  return { suite: "contracts", ok, durationMs, ...countHardhat(output) };
}

/** Hardhat closes with lines such as "12 passing (8 solidity, 4 mocha)"; only the table uses these, never the exit code. */
function countHardhat(output: string): Pick<Outcome, "passed" | "failed" | "skipped"> {
  const plain = stripVTControlCharacters(output);
  const count = (word: string): number =>
    Number([...plain.matchAll(new RegExp(`(\\d+) ${word} \\(`, "g"))].at(-1)?.[1] ?? 0);
  return { passed: count("passing"), failed: count("failing"), skipped: count("skipped") };
}

function report(results: readonly Outcome[]): void {
  const cell = (value: number): string => String(value).padStart(8);
  const lines = results.map(({ suite, ok, passed, failed, skipped, durationMs }) => {
    const mark = ok ? styleText("green", "ok  ") : styleText("red", "FAIL");
    return `${mark} ${suite.padEnd(12)}${cell(passed)}${cell(failed)}${cell(skipped)}${(durationMs / 1000).toFixed(1).padStart(8)} s`;
  });
  const head = `     ${"suite".padEnd(12)}${["passed", "failed", "skipped", "time"].map((word) => word.padStart(8)).join("")}`;
  process.stdout.write(`\n${styleText("bold", head)}\n${lines.join("\n")}\n`);
}
