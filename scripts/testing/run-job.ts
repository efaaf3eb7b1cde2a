// Runs one job and counts its tests.
import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { stripVTControlCharacters } from "node:util";
import { root, type Job } from "./suites.ts";

export interface JobResult {
  readonly job: Job;
  readonly ok: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly seconds: number;
  /** User and system time of the test process and of its children that have ended; null if unknown. */
  readonly cpuSeconds: number | null;
}

export interface JobOptions {
  /** Runs only the tests whose name matches. */
  readonly grep: string | undefined;
  /** Makes fewer fuzz and invariant runs than `hardhat.config.ts` says. */
  readonly fewRuns: boolean;
  /** Takes the events of Node's runner as they come. */
  readonly event: (event: TestEvent) => void;
  /** Ends the job. */
  readonly signal: AbortSignal;
  /** Takes what Hardhat prints. */
  readonly text: (text: string) => void;
}

/** A file whose tests take longer than this hangs. */
const FILE_TIMEOUT_MS = 300_000;
/** `npm test` searches this far; the fuzz step of `.ci/run` makes all runs. */
const FEW_RUNS = { FUZZ_RUNS: "32", INVARIANT_RUNS: "2" };
const METER = /\0cpu (\d+)\0\n?/;
const group = join(import.meta.dirname, "group.ts");
const meter = ["--import", join(import.meta.dirname, "meter.ts")];

export function runJob(job: Job, options: JobOptions): Promise<JobResult> {
  return job.suite === "contracts" ? runHardhat(job, options) : runNode(job, options);
}

/** Node's own runner on TypeScript as it stands, in a process of the job's own. */
async function runNode(job: Job, { grep, event: onEvent, signal }: JobOptions): Promise<JobResult> {
  const started = performance.now();
  const stream = run({
    cwd: root,
    ...(job.files.length === 1
      ? { files: job.files.map((file) => resolve(root, file)) }
      : { files: [group], argv: job.files }),
    execArgv: meter,
    signal,
    timeout: FILE_TIMEOUT_MS * job.files.length,
    ...(grep === undefined ? {} : { testNamePatterns: [new RegExp(grep)] }),
  });
  let result = { ok: false, passed: 0, failed: 1, skipped: 0 };
  let empty = 0;
  let cpuMicroseconds: number | null = null;
  for await (const event of stream as AsyncIterable<TestEvent>) {
    if (event.type === "test:stdout" && METER.test(event.data.message)) {
      cpuMicroseconds = Number(METER.exec(event.data.message)?.[1]);
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
  const cpuSeconds = cpuMicroseconds === null ? null : cpuMicroseconds / 1e6;
  return { job, ...result, seconds: (performance.now() - started) / 1000, cpuSeconds };
}

/** Solidity tests (unit, fuzz, invariant) and mocha tests of the contracts. */
async function runHardhat(job: Job, { grep, fewRuns, text: onText, signal }: JobOptions): Promise<JobResult> {
  const started = performance.now();
  const filter = grep === undefined ? [] : ["--grep", grep];
  const command = [...meter, join(root, "node_modules/.bin/hardhat"), "test", ...job.files, ...filter];
  const child = spawn(process.execPath, command, {
    cwd: root,
    signal,
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
    const spent = METER.exec(chunk)?.[1];
    if (spent !== undefined) cpuSeconds = Number(spent) / 1e6;
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
