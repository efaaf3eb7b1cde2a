// Builds a batch of mutants and runs the contract tests on each of them.
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Sources } from "./ast.ts";
import { plant, switchLibrary, switchSource } from "./mutants.ts";
import type { Mutant } from "./mutants.ts";

/** Invalid: does not compile beside the others, nor alone. */
export type Verdict = "killed" | "survived" | "invalid";

export interface Result {
  readonly id: number;
  readonly verdict: Verdict;
  /** Which tests noticed: the faster ones go first, and the rest are spared. */
  readonly by: "mocha" | "solidity" | "timeout" | "compiler" | "nothing";
  readonly seconds: number;
}

interface Run {
  readonly sources: Sources;
  readonly folder: string;
  readonly mochaFiles: readonly string[];
  /** A mutant's result as soon as it is known. */
  readonly onResult: (result: Result) => void;
}

interface Outcome {
  readonly ok: boolean;
  readonly timedOut: boolean;
  readonly output: string;
}

const root = join(import.meta.dirname, "../../..");
/** A batch that is too large leaves no room on the stack, or in a transaction that deploys it. */
const batchSize = 150;
/** A mutant that takes this many times as long as the contracts without one does not end. */
const patience = 5;
const leastTimeoutMs = 60_000;
/** The tests of contracts without a mutant on a very busy machine. */
const baselineTimeoutMs = 1_200_000;
/** Enough to notice a mutant in most cases; test:contracts runs more. */
const effort = { FUZZ_RUNS: "32", INVARIANT_RUNS: "8" };

export async function runMutants(run: Run, mutants: readonly Mutant[]): Promise<void> {
  for (let first = 0; first < mutants.length; first += batchSize) {
    await runBatch(run, mutants.slice(first, first + batchSize));
  }
}

/** A batch that does not build is halved until the mutants that the compiler refuses are alone. */
async function runBatch(run: Run, mutants: readonly Mutant[]): Promise<void> {
  if (!(await build(run, mutants))) {
    if (mutants.length === 1) {
      run.onResult({ id: mutants[0]!.id, verdict: "invalid", by: "compiler", seconds: 0 });
      return;
    }
    const half = Math.ceil(mutants.length / 2);
    await runBatch(run, mutants.slice(0, half));
    await runBatch(run, mutants.slice(half));
    return;
  }
  const suites = await timeSuites(run);
  for (const mutant of mutants) run.onResult(await judge(run, suites, mutant));
}

async function build(run: Run, mutants: readonly Mutant[]): Promise<boolean> {
  rmSync(run.folder, { recursive: true, force: true });
  mkdirSync(run.folder, { recursive: true });
  const texts = { ...plant(run.sources, mutants), [switchLibrary.file]: switchSource };
  writeFileSync(join(run.folder, "sources.json"), JSON.stringify(texts));
  return (await hardhat(run, ["build"], 0, baselineTimeoutMs)).ok;
}

interface Suite {
  readonly name: "mocha" | "solidity";
  readonly args: readonly string[];
  readonly timeoutMs: number;
}

/** With no mutant switched on the tests must pass, or every mutant would look killed. */
async function timeSuites(run: Run): Promise<readonly Suite[]> {
  const suites: Suite[] = [];
  for (const name of ["mocha", "solidity"] as const) {
    const args = ["test", name, "--no-compile", ...(name === "mocha" ? run.mochaFiles : [])];
    const started = performance.now();
    const outcome = await hardhat(run, args, 0, baselineTimeoutMs);
    if (!outcome.ok) throw new Error(`Tests fail on contracts without a mutant:\n${outcome.output}`);
    suites.push({ name, args, timeoutMs: Math.max(leastTimeoutMs, patience * (performance.now() - started)) });
  }
  return suites;
}

async function judge(run: Run, suites: readonly Suite[], mutant: Mutant): Promise<Result> {
  const started = performance.now();
  const result = (verdict: Verdict, by: Result["by"]): Result => {
    return { id: mutant.id, verdict, by, seconds: Math.round((performance.now() - started) / 100) / 10 };
  };
  for (const { name, args, timeoutMs } of suites) {
    const outcome = await hardhat(run, args, mutant.id, timeoutMs);
    if (outcome.timedOut) return result("killed", "timeout");
    if (!outcome.ok) return result("killed", name);
  }
  return result("survived", "nothing");
}

async function hardhat(run: Run, args: readonly string[], mutant: number, timeoutMs: number): Promise<Outcome> {
  const config = ["--config", "scripts/lib/solidity/hardhat.config.ts"];
  const child = spawn(join(root, "node_modules/.bin/hardhat"), [...config, ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...effort, CONCLAVE_INSTRUMENTED: run.folder, CONCLAVE_MUTANT: String(mutant) },
  });
  let output = "";
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill("SIGKILL");
  }, timeoutMs);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  }
  const code = await new Promise<number | null>((settle, reject) => {
    child.on("error", reject).on("close", settle);
  });
  clearTimeout(timer);
  return { ok: code === 0, timedOut, output };
}
