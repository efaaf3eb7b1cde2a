// Runs the tests, files side by side, and ends with one table.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { loadArtifacts } from "../agents/adapters/artifacts/artifacts.ts";
import { messageOf } from "../agents/core/errors.ts";
import { scriptCommand } from "./shared/arguments.ts";
import { EXIT_INTERRUPTED } from "./shared/interrupt.ts";
import { createPrinter, filesIn, table, totalsOf } from "./testing/report.ts";
import { runJob, type JobResult } from "./testing/run-job.ts";
import {
  filesOf,
  folderOf,
  guessSeconds,
  jobsOf,
  jobsOfSuite,
  laneOf,
  lanes,
  nameOf,
  needsContracts,
  root,
  suites,
  type Job,
} from "./testing/suites.ts";
import type { Lane, Suite } from "./testing/suites.ts";

interface Flags {
  readonly quick?: true;
  readonly long?: true;
  readonly grep?: string;
  readonly json?: true;
}

/** How long each file took the last time: the longest begin first. */
const timesFile = join(root, ".cache/tests/seconds.json");
const anyContract = "devnet/contracts/TestToken.sol:TestToken";
/** Node keeps compiled TypeScript here, which saves a third of a second for each file. */
const compileCache = join(root, ".cache/tests/compiled");

const command = scriptCommand(
  "test",
  "Runs the tests. Without names: everything that needs npm alone and is not declared long in scripts/testing/suites.ts, with few fuzz runs; only failing files are shown in full. With names: every test of these suites or files.",
)
  .argument("[names...]", `suites (${suites.join(", ")}) or test files`)
  .option("--quick", "what to run before every commit: leaves out what is slow, too")
  .option("--long", "only what the run without names leaves out as long")
  .option("--grep <pattern>", "only tests whose name matches this regular expression", pattern)
  .option("--json", "print one JSON object on stdout, with what each file took; all else goes to stderr")
  .addHelpText(
    "after",
    `
Examples:
  npm test
  npm run test:quick
  npm test -- core adapters
  npm test -- core test/core/quorum.test.ts --grep "n = 4"

Exit codes: 0 all tests passed, 1 one failed or none ran, 2 usage, 130 stopped by a signal.
`,
  )
  .parse();
const flags = command.opts<Flags>();
const jobs = inOrder(chooseJobs(command.args));

const out = flags.json === true ? process.stderr : process.stdout;
process.env["NODE_COMPILE_CACHE"] ??= compileCache;
const ending = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => ending.abort());
const started = performance.now();
const ended = await runAll();
const seconds = (performance.now() - started) / 1000;
const totals = totalsOf(ended);
const ran = totals.reduce((count, { passed, failed, skipped }) => count + passed + failed + skipped, 0);
const ok = ran > 0 && ended.every((result) => result.ok);
out.write(`\n${table(totals, seconds)}`);
if (flags.json === true)
  process.stdout.write(`${JSON.stringify({ ok, seconds, suites: totals, files: filesIn(ended) })}\n`);
if (ran === 0) process.stderr.write(flags.grep === undefined ? "No test ran.\n" : `No test matches ${flags.grep}.\n`);
const code = ending.signal.aborted ? EXIT_INTERRUPTED : ok ? 0 : 1;
// What a killed job started may still hold its pipes.
if (ended.some(({ hung }) => hung)) process.exit(code);
process.exitCode = code;

function pattern(text: string): string {
  try {
    return new RegExp(text).source;
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}. Write \\( for a bracket that stands for itself.`);
  }
}

function chooseJobs(names: readonly string[]): readonly Job[] {
  if (names.length > 0 && (flags.quick ?? flags.long) === true)
    command.error("error: --quick and --long choose the tests themselves: name no suites or files with them");
  if (flags.quick === true && flags.long === true) command.error("error: use --quick or --long, not both");
  if (names.length === 0) return jobsOf(flags.quick === true ? "quick" : flags.long === true ? "long" : "standard");
  const named = suites.filter((suite) => names.includes(suite));
  const files = names.filter((name) => !suites.some((suite) => suite === name)).map(fileNamed);
  if (files.length === 0) return named.flatMap((suite) => jobsOfSuite(suite));
  const stray = files.find(({ suite }) => named.length > 0 && !named.includes(suite));
  if (stray !== undefined) command.error(`error: ${stray.file} is in the suite ${stray.suite}, not in ${named.join()}`);
  const contracts = files.filter(({ suite }) => suite === "contracts").map(({ file }) => file);
  return [
    ...files.filter(({ suite }) => suite !== "contracts").map(({ suite, file }) => ({ suite, files: [file] })),
    ...(contracts.length === 0 ? [] : [{ suite: "contracts" as const, files: contracts }]),
  ];
}

function fileNamed(name: string): { readonly suite: Suite; readonly file: string } {
  const path = [resolve(name), join(root, name)].find((one) => existsSync(one));
  if (path === undefined) return command.error(`error: "${name}" is neither a suite (${suites.join(", ")}) nor a file`);
  const file = relative(root, path);
  const suite = suites.find((one) => dirname(file).startsWith(folderOf(one)));
  const isTest = suite === "contracts" ? /\.t\.sol$|\.test\.ts$/.test(file) : suite && filesOf(suite).includes(file);
  if (suite === undefined || isTest !== true) return command.error(`error: ${file} is not a test file`);
  return { suite, file };
}

/** The longest job first, so that none is left alone at the end. */
function inOrder(chosen: readonly Job[]): readonly Job[] {
  const times = readTimes();
  const secondsOf = (job: Job): number => times[nameOf(job)] ?? guessSeconds(job);
  return chosen.toSorted((a, b) => secondsOf(b) - secondsOf(a));
}

function readTimes(): Readonly<Record<string, number>> {
  try {
    return JSON.parse(readFileSync(timesFile, "utf8")) as Record<string, number>;
  } catch {
    return {};
  }
}

async function runAll(): Promise<readonly JobResult[]> {
  const printer = createPrinter(jobs, command.args.length === 0, out);
  let isCompiled = !jobs.some(({ suite }) => needsContracts(suite));
  // Compiled once, while files that need no contracts already run.
  const compiled = isCompiled
    ? Promise.resolve()
    : loadArtifacts([anyContract], "default").then(() => (isCompiled = true));
  const results: JobResult[] = [];
  const how = { grep: flags.grep, fewRuns: command.args.length === 0 };
  const work = async (left: Job[]): Promise<void> => {
    while (left.length > 0 && !ending.signal.aborted) {
      const ready = left.findIndex(({ suite }) => isCompiled || !needsContracts(suite));
      if (ready < 0) {
        await compiled;
        continue;
      }
      const [job] = left.splice(ready, 1) as [Job];
      const print = printer.job(job);
      const result = await runJob(job, { ...print, ...how, signal: ending.signal });
      print.done(result);
      results.push(result);
    }
  };
  const workers = lanes.flatMap((lane) => {
    const left = jobs.filter((job) => laneOf(job) === lane);
    return Array.from({ length: widthOf(lane) }, () => work(left));
  });
  await Promise.all([compiled, ...workers]);
  await printer.close();
  if (flags.grep === undefined) keepTimes(results);
  return results;
}

/** How many jobs of a lane run at once. */
function widthOf(lane: Lane): number {
  const cores = availableParallelism();
  return { computing: cores, waiting: cores + 1, alone: 1 }[lane];
}

function keepTimes(results: readonly JobResult[]): void {
  const taken = results.map(({ job, seconds: one }) => [nameOf(job), Math.round(one * 10) / 10]);
  mkdirSync(dirname(timesFile), { recursive: true });
  writeFileSync(timesFile, JSON.stringify({ ...readTimes(), ...Object.fromEntries(taken) }, null, 1));
}
