// Runs one job and counts its tests.
import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { nameOf, root, type Job } from "./suites.ts";

export interface JobResult {
  readonly job: Job;
  readonly ok: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly seconds: number;
  /** User and system time of the test process and of its children that have ended; null if unknown. */
  readonly cpuSeconds: number | null;
  /** It was killed, because it did not end. */
  readonly hung: boolean;
}

export interface JobOptions {
  /** Runs only the tests whose name matches. */
  readonly grep: string | undefined;
  /** Makes fewer fuzz runs than `hardhat.config.ts` says. */
  readonly fewRuns: boolean;
  /** Takes the events of Node's runner as they come. */
  readonly event: (event: TestEvent) => void;
  /** Ends the job. */
  readonly signal: AbortSignal;
  /** Takes what Hardhat prints. */
  readonly text: (text: string) => void;
}

/** A test that takes longer than this hangs; Node names it. */
const TEST_TIMEOUT_MS = 900_000;
/** A job that takes longer than this hangs, although none of its tests does so: its process does not end. */
const LIMIT_SECONDS = 3_000;
/** `npm test` searches this far; the fuzz step of `.ci/run` makes all runs. */
const FEW_RUNS = { FUZZ_RUNS: "32" };
/** What meter.ts writes. */
const METER = /\0(pid|cpu) (\d+)\0\n?/g;
/** What the tests of a job that is stopped have to clean up. */
const CLEAN_UP_MS = 3_000;
const group = join(import.meta.dirname, "group.ts");
const meter = ["--import", join(import.meta.dirname, "meter.ts")];

type Outcome = Omit<JobResult, "hung">;

/** Runs a job; one that hangs is killed, and fails. */
export async function runJob(job: Job, options: JobOptions): Promise<JobResult> {
  const limit = AbortSignal.timeout(LIMIT_SECONDS * 1000);
  const bounded = { ...options, signal: AbortSignal.any([options.signal, limit]) };
  const result = await (job.suite === "contracts" ? runHardhat(job, bounded) : runNode(job, bounded));
  if (limit.aborted) options.text(`${nameOf(job)}: killed, because it had not ended after ${LIMIT_SECONDS} s\n`);
  return { ...result, hung: limit.aborted };
}

/** Node's own runner on TypeScript as it stands, in a process of the job's own. */
async function runNode(job: Job, { grep, event: onEvent, signal }: JobOptions): Promise<Outcome> {
  const started = performance.now();
  const stream = run({
    cwd: root,
    ...(job.files.length === 1
      ? { files: job.files.map((file) => resolve(root, file)) }
      : { files: [group], argv: job.files }),
    execArgv: meter,
    signal,
    timeout: TEST_TIMEOUT_MS,
    ...(grep === undefined ? {} : { testNamePatterns: [new RegExp(grep)] }),
  });
  let result = { ok: false, passed: 0, failed: 1, skipped: 0 };
  let empty = 0;
  const measured: Metered = {};
  for await (const event of stream as AsyncIterable<TestEvent>) {
    if (event.type === "test:stdout" && event.data.message.includes("\0")) {
      Object.assign(measured, readMeter(event.data.message));
      const message = event.data.message.replace(METER, "");
      if (message !== "") onEvent({ ...event, data: { ...event.data, message } });
      continue;
    }
    // A file without a test that matches counts as one test that passes.
    if (event.type === "test:pass" && event.data.name === event.data.file) {
      empty++;
      continue;
    }
    if (event.type === "test:summary" && event.data.file === undefined) {
      const { success, counts } = event.data;
      const skipped = counts.skipped + counts.todo;
      // A file of a group that cannot be loaded has no test that fails.
      const failed = Math.max(success ? 0 : 1, counts.tests - counts.passed - skipped);
      result = { ok: success, passed: counts.passed - empty, failed, skipped };
    }
    onEvent(event);
  }
  // Node sent SIGTERM, which a process that never returns to its event loop does not hear.
  if (signal.aborted) await kill(measured.pid);
  return { job, ...result, seconds: (performance.now() - started) / 1000, cpuSeconds: measured.cpuSeconds ?? null };
}

interface Metered {
  readonly pid?: number;
  readonly cpuSeconds?: number;
}

function readMeter(text: string): Metered {
  const values = Object.fromEntries([...text.matchAll(METER)].map(([, name, value]) => [name, Number(value)]));
  const { pid, cpu } = values;
  return { ...(pid === undefined ? {} : { pid }), ...(cpu === undefined ? {} : { cpuSeconds: cpu / 1e6 }) };
}

/** Kills a process that has not ended by itself within its time. */
async function kill(pid: number | undefined): Promise<void> {
  if (pid === undefined) return;
  for (const end = Date.now() + CLEAN_UP_MS; send(pid, 0) && Date.now() < end;) await sleep(50);
  send(pid, "SIGKILL");
}

/** False if there is no such process. */
function send(pid: number, signal: 0 | "SIGKILL"): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Solidity tests (unit, fuzz, invariant) and mocha tests of the contracts. */
async function runHardhat(job: Job, { grep, fewRuns, text: onText, signal }: JobOptions): Promise<Outcome> {
  const started = performance.now();
  const filter = grep === undefined ? [] : ["--grep", grep];
  const command = [...meter, join(root, "node_modules/.bin/hardhat"), "test", ...job.files, ...filter];
  const child = spawn(process.execPath, command, {
    cwd: root,
    signal,
    killSignal: "SIGKILL",
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...(fewRuns ? FEW_RUNS : {}),
      ...process.env,
      ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}),
    },
  });
  let output = "";
  let cpuSeconds: number | null = null;
  const collect = (chunk: string): void => {
    cpuSeconds = readMeter(chunk).cpuSeconds ?? cpuSeconds;
    const text = chunk.replace(METER, "");
    output += text;
    onText(text);
  };
  child.stdout.setEncoding("utf8").on("data", collect);
  child.stderr.setEncoding("utf8").on("data", collect);
  const ok = await new Promise<boolean>((settle, reject) => {
    child.on("error", (error) => (signal.aborted ? settle(false) : reject(error)));
    child.on("close", (code) => settle(code === 0));
  });
  return { job, ok, ...countHardhat(output), seconds: (performance.now() - started) / 1000, cpuSeconds };
}

/** Hardhat closes with lines such as "12 passing (8 solidity, 4 mocha)"; only the table uses these, never the exit code. */
function countHardhat(output: string): Pick<JobResult, "passed" | "failed" | "skipped"> {
  const plain = stripVTControlCharacters(output);
  const count = (word: string): number =>
    Number([...plain.matchAll(new RegExp(`(\\d+) ${word} \\(`, "g"))].at(-1)?.[1] ?? 0);
  return { passed: count("passing"), failed: count("failing"), skipped: count("skipped") };
}
