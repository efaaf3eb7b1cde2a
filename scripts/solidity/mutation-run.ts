// Builds the contracts with all mutants and tries them one by one. A mutant meets only the tests that reach it, the
// likeliest to fail first, until one fails.
import { fork, spawn } from "node:child_process";
import type { ChildProcess, StdioOptions } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import type { Sources } from "./compiler.ts";
import { countReads, plant, switchLibrary, switchSource } from "./mutants.ts";
import type { Mutant } from "./mutants.ts";
import { mostBytes, tooMuchMemory } from "./mutation-protocol.ts";
import type { Answer, Ask } from "./mutation-protocol.ts";

/**
 * Open: the likeliest tests pass, and others did not run. Invalid: the mutant does not compile, beside the others or
 * alone.
 */
export type Verdict = "killed" | "survived" | "open" | "invalid";

export interface Result {
  readonly id: number;
  readonly verdict: Verdict;
  /** The test that noticed. */
  readonly by: string;
  readonly seconds: number;
}

/** Variables of hardhat.config.ts. */
export interface Effort {
  readonly FUZZ_RUNS: string;
  readonly INVARIANT_RUNS: string;
}

export interface Run {
  readonly sources: Sources;
  readonly folder: string;
  /** The files of tests, as a pattern. */
  readonly tests: string;
  /** Only Solidity tests whose name begins like this. */
  readonly prefix?: string;
  readonly effort: Effort;
  /** A test that does not take longer than this is not taken not to end. */
  readonly leastTimeoutMs: number;
  /** Most seconds of tests for each mutant. */
  readonly limit: number;
  /** Gets a mutant's result as soon as it is known. */
  readonly onResult: (result: Result) => void;
}

interface Test {
  readonly file: string;
  readonly test: string;
  readonly without: readonly string[];
  readonly ms: number;
  /** Mutants that the test reaches. */
  readonly hits: readonly number[];
}

const root = join(import.meta.dirname, "../..");
/**
 * Tests that judge gas, which the switches change: files of mocha tests, and Solidity tests of which Hardhat would
 * keep every step when they fail.
 */
const gasFiles = ["**/draw-cost.test.ts", "**/settle-cost.test.ts"];
const gasTests = ["test_historyCannotBeStarved", "test_drawAlwaysEnds"];
/** A test that takes this many times as long as without a mutant is taken not to end. */
const patience = 20;
/** Time for a process to load Hardhat on a very busy machine. */
const startTimeoutMs = 180_000;

/** Builds `mutants` together and tries the chosen ones; halving finds those that the compiler refuses. */
export async function runMutants(run: Run, mutants: readonly Mutant[], chosen: ReadonlySet<number>): Promise<void> {
  const pending = mutants.filter(({ id }) => chosen.has(id));
  if (pending.length === 0) return;
  if (await build(run, mutants)) {
    await tryAll(run, await findTests(run, mutants), pending);
  } else if (mutants.length === 1) {
    run.onResult({ id: mutants[0]!.id, verdict: "invalid", by: "the compiler", seconds: 0 });
  } else {
    const half = Math.ceil(mutants.length / 2);
    await runMutants(run, mutants.slice(0, half), chosen);
    await runMutants(run, mutants.slice(half), chosen);
  }
}

function environment(run: Run): NodeJS.ProcessEnv {
  const config = { HARDHAT_CONFIG: "scripts/solidity/hardhat.config.ts", CONCLAVE_INSTRUMENTED: run.folder };
  return { ...process.env, ...run.effort, ...config };
}

async function build(run: Run, mutants: readonly Mutant[]): Promise<boolean> {
  mkdirSync(run.folder, { recursive: true });
  const texts = { ...plant(run.sources, mutants), [switchLibrary.file]: switchSource };
  writeFileSync(join(run.folder, "sources.json"), JSON.stringify(texts));
  const hardhat = join(root, "node_modules/.bin/hardhat");
  const child = spawn(hardhat, ["build"], { cwd: root, stdio: "ignore", env: environment(run) });
  return new Promise((settle, reject) => {
    child.on("error", reject).on("close", (code) => {
      settle(code === 0);
    });
  });
}

async function tryAll(run: Run, tests: readonly Test[], mutants: readonly Mutant[]): Promise<void> {
  const worker = new Worker(environment(run));
  try {
    for (const own of Map.groupBy(mutants, ({ file }) => file).values()) {
      const odds = new Odds();
      for (const { id } of own) run.onResult(await tryOne(run, worker, tests, odds, id));
    }
  } finally {
    worker.stop();
  }
}

async function tryOne(run: Run, worker: Worker, tests: readonly Test[], odds: Odds, id: number): Promise<Result> {
  const started = performance.now();
  const result = (verdict: Verdict, by: string): Result => {
    return { id, verdict, by, seconds: Math.round((performance.now() - started) / 100) / 10 };
  };
  let left = run.limit * 1000;
  let exhausted: Result | undefined;
  for (const test of odds.order(tests.filter(({ hits }) => hits.includes(id)))) {
    left -= test.ms;
    if (left < 0) return result("open", "nothing yet");
    const { prefix } = run;
    const request = { ...test, ...(prefix === undefined ? {} : { prefix }), mutant: id };
    const answer = await worker.ask(request, Math.max(run.leastTimeoutMs, patience * test.ms));
    const isKilled = answer === undefined || answer.failures.length > 0;
    odds.count(test, isKilled);
    const name = test.file.endsWith(".sol") ? `${test.file} ${answer?.failures[0]}` : `${test.file} ${test.test}`;
    if (answer !== undefined && isKilled) return result("killed", name);
    if (answer !== undefined) continue;
    exhausted = result("killed", `time or memory of ${test.file}`);
    // One of the tests that were named by their prefix must say what is wrong.
    if (run.prefix === undefined) return exhausted;
  }
  return exhausted ?? result("survived", "nothing");
}

/** Estimates which test is the likeliest to notice the next mutant of a file, for the time it takes. */
class Odds {
  readonly #tried = new Map<Test, { kills: number; tries: number }>();

  order(tests: readonly Test[]): readonly Test[] {
    const gain = (test: Test): number => {
      const { kills, tries } = this.#tried.get(test) ?? { kills: 0, tries: 0 };
      // For a test that was not tried yet: the fewer mutants it reaches, the more it says about each.
      const guess = 100 / (100 + test.hits.length);
      return (kills + guess) / (tries + 1) / test.ms;
    };
    return tests.toSorted((one, other) => gain(other) - gain(one));
  }

  count(test: Test, isKilled: boolean): void {
    const { kills, tries } = this.#tried.get(test) ?? { kills: 0, tries: 0 };
    // Recent results weigh more: the same tests notice neighbouring mutants.
    this.#tried.set(test, { kills: 0.9 * kills + (isKilled ? 1 : 0), tries: 0.9 * tries + 1 });
  }
}

/**
 * Returns all tests that pass with no mutant switched on, and the mutants that each reaches; known ones are kept from
 * run to run.
 */
async function findTests(run: Run, mutants: readonly Mutant[]): Promise<readonly Test[]> {
  const path = join(run.folder, "tests.json");
  const known = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Record<string, readonly Test[]>) : {};
  const shared = globSync(["test/contracts/utils/*", "test/support/contracts/*", "devnet/contracts/*"], {
    cwd: root,
  }).toSorted();
  const files = globSync(run.tests, { cwd: root, exclude: gasFiles }).toSorted();
  const worker = new Worker({ ...environment(run), HARDHAT_COVERAGE: "true" });
  const all: Test[] = [];
  try {
    for (const file of files) {
      const hash = createHash("sha256").update(readFileSync(join(run.folder, "sources.json")));
      for (const name of [...shared, file]) hash.update(readFileSync(join(root, name))).update("\0");
      const key = `${file} ${hash.digest("hex")}`;
      known[key] ??= file.endsWith(".sol")
        ? [await measureSolidity(run, worker, file, mutants)]
        : await measure(worker, file);
      all.push(...known[key]);
      writeFileSync(path, JSON.stringify(known));
      console.error(`${file}: ${known[key].length} tests`);
    }
  } finally {
    worker.stop();
  }
  return all;
}

/** Measures mocha tests one by one, with the switches that they read. */
async function measure(worker: Worker, file: string): Promise<readonly Test[]> {
  const tests: Test[] = [];
  for (const test of (await insist(worker, { file, mutant: 0 })).tests) {
    const started = performance.now();
    const { failures, hits } = await insist(worker, { file, test, mutant: countReads });
    const ms = Math.ceil(performance.now() - started);
    // Counting costs gas, which alone makes some fail.
    const fails = failures.length > 0 && (await insist(worker, { file, test, mutant: 0 })).failures.length > 0;
    if (fails) console.error(`left out, because it fails with no mutant: ${file} ${test}`);
    else tests.push({ file, test, without: [], ms, hits });
  }
  return tests;
}

/**
 * Measures a file of Solidity tests as one, which may reach everything that it imports: counting its reads takes too
 * much memory.
 */
async function measureSolidity(run: Run, worker: Worker, file: string, mutants: readonly Mutant[]): Promise<Test> {
  const started = performance.now();
  const only = run.prefix === undefined ? {} : { prefix: run.prefix };
  const answer = await insist(worker, { file, test: "all", without: gasTests, ...only, mutant: 0 });
  const failures = answer.failures.map((failure) => failure.replace(/:.*/s, ""));
  const ms = Math.ceil(performance.now() - started);
  for (const name of failures) console.error(`left out, because it fails with no mutant: ${file} ${name}`);
  const reached = importsOf(file);
  const hits = mutants.filter((mutant) => reached.has(mutant.file)).map(({ id }) => id);
  return { file, test: "all", without: [...gasTests, ...failures], ms, hits };
}

/** Returns a Solidity file and everything that it imports of the project. */
function importsOf(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, path] of readFileSync(join(root, file), "utf8").matchAll(/^(?:import|\}) .*?"(\..+)";$/gm)) {
    importsOf(join(dirname(file), path!), seen);
  }
  return seen;
}

async function insist(worker: Worker, request: Ask): Promise<Answer> {
  const answer = await worker.ask(request, 1_200_000);
  if (answer === undefined) throw new Error(`Tests of ${request.file} do not end with no mutant`);
  return answer;
}

/** A process of mutation-worker.ts; a new one replaces one that hangs. */
class Worker {
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** Resolves with undefined if no answer comes in time, or if the process takes too much memory. */
  ask(request: Ask, timeoutMs: number): Promise<Answer | undefined> {
    const stdio: StdioOptions = ["ignore", "ignore", "inherit", "ipc"];
    const startMs = this.#child === undefined ? startTimeoutMs : 0;
    this.#child ??= fork(join(import.meta.dirname, "mutation-worker.ts"), { cwd: root, env: this.#env, stdio });
    const child = this.#child;
    return new Promise((settle, reject) => {
      const timer = setTimeout(() => {
        this.stop();
        settle(undefined);
      }, timeoutMs + startMs);
      const onExit = (code: number | null, signal: string | null): void => {
        clearTimeout(timer);
        this.#child = undefined;
        if (code === tooMuchMemory) settle(undefined);
        else reject(new Error(`The process of the tests ended with ${signal ?? code} in ${request.file}`));
      };
      child.once("exit", onExit);
      child.once("message", (message) => {
        const answer = message as Answer;
        clearTimeout(timer);
        child.off("exit", onExit);
        // Past chains also take memory.
        if (answer.bytes > mostBytes / 2) this.stop();
        settle(answer);
      });
      child.send(request);
    });
  }

  stop(): void {
    this.#child?.removeAllListeners().kill("SIGKILL");
    this.#child = undefined;
  }
}
