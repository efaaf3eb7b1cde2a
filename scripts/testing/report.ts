// What the test runner prints: failing files in full, progress while it runs, one table at the end.
import { finished } from "node:stream/promises";
import { spec, type TestEvent } from "node:test/reporters";
import { styleText } from "node:util";
import type { JobResult } from "./run-job.ts";
import { nameOf, suites, type Job, type Suite } from "./suites.ts";

export interface SuiteTotal {
  readonly suite: Suite;
  readonly ok: boolean;
  readonly files: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Sum over its files, which run side by side. */
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** Takes what one job says. */
export interface JobPrinter {
  readonly event: (event: TestEvent) => void;
  readonly text: (text: string) => void;
  readonly done: (result: JobResult) => void;
}

export interface Printer {
  job(job: Job): JobPrinter;
  /** Prints what is left to say. */
  close(): Promise<void>;
}

/** Where the lines stay, as in a log. */
const PROGRESS_MS = 60_000;
/** A job that has run for so long is named, so that one that hangs can be found. */
const SLOW_SECONDS = 120;

/** @param quiet prints only the files that fail */
export function createPrinter(jobs: readonly Job[], quiet: boolean, out: NodeJS.WriteStream): Printer {
  const started = performance.now();
  const reporter = new spec();
  reporter.pipe(out, { end: false });
  const isLive = jobs.length === 1 && !quiet;
  const ended: JobResult[] = [];
  const running = new Map<Job, number>();
  const say = (): void => {
    const { passed, failed } = sum(ended);
    const secondsSince = (from: number): number => Math.round((performance.now() - from) / 1000);
    const slow = [...running].filter(([, from]) => secondsSince(from) >= SLOW_SECONDS);
    const names = slow.map(([job, from]) => `; ${nameOf(job)} has run for ${secondsSince(from)} s`).join("");
    const text = `${countFiles(ended.map(({ job }) => job))} of ${countFiles(jobs)} files, ${passed} passed, ${failed} failed, ${secondsSince(started)} s${out.isTTY ? "" : names}`;
    out.write(out.isTTY ? `\r\u001b[K${text}` : `${text}\n`);
  };
  const timer = quiet ? setInterval(say, out.isTTY ? 1_000 : PROGRESS_MS) : undefined;

  return {
    job(job) {
      running.set(job, performance.now());
      const kept: TestEvent[] = [];
      const texts: string[] = [];
      return {
        event(event) {
          if (isOfRun(event)) return;
          if (isLive) reporter.write(event);
          else kept.push(event);
        },
        text(text) {
          if (isLive) out.write(text);
          else texts.push(text);
        },
        done(result) {
          running.delete(job);
          ended.push(result);
          if (quiet && result.ok) return;
          if (out.isTTY && quiet) out.write("\r\u001b[K");
          for (const event of kept) reporter.write(event);
          out.write(texts.join(""));
        },
      };
    },
    async close() {
      clearInterval(timer);
      if (quiet && out.isTTY) out.write("\r\u001b[K");
      reporter.end();
      await finished(reporter);
    },
  };
}

/** The number of files; the contracts' tests are one, since Hardhat finds them. */
function countFiles(jobs: readonly Job[]): number {
  return jobs.reduce((count, { files }) => count + Math.max(1, files.length), 0);
}

/** The end of one file's run, which is not the end of this one. */
function isOfRun({ type, data }: TestEvent): boolean {
  return type === "test:summary" || (type === "test:diagnostic" && data.file === undefined);
}

export function totalsOf(results: readonly JobResult[]): readonly SuiteTotal[] {
  return suites.flatMap((suite) => {
    const own = results.filter(({ job }) => job.suite === suite);
    return own.length === 0
      ? []
      : [{ suite, ok: own.every(({ ok }) => ok), files: countFiles(own.map(({ job }) => job)), ...sum(own) }];
  });
}

/** What one file took; `file` is a suite's name where one run has all of its files. */
export interface FileTotal {
  readonly file: string;
  readonly passed: number;
  readonly seconds: number;
  readonly cpuSeconds: number | null;
}

/** The files, those first that took most CPU time. */
export function filesIn(results: readonly JobResult[]): readonly FileTotal[] {
  return results
    .map(({ job, passed, seconds, cpuSeconds }) => ({ file: nameOf(job), passed, seconds, cpuSeconds }))
    .toSorted((one, other) => (other.cpuSeconds ?? 0) - (one.cpuSeconds ?? 0));
}

type Sums = Omit<SuiteTotal, "suite" | "ok" | "files">;

function sum(parts: readonly (JobResult | SuiteTotal)[]): Sums {
  const total = (value: (part: JobResult | SuiteTotal) => number): number =>
    parts.reduce((all, one) => all + value(one), 0);
  return {
    passed: total(({ passed }) => passed),
    failed: total(({ failed }) => failed),
    skipped: total(({ skipped }) => skipped),
    seconds: total(({ seconds }) => seconds),
    cpuSeconds: total(({ cpuSeconds }) => cpuSeconds ?? 0),
  };
}

export function table(totals: readonly SuiteTotal[], seconds: number): string {
  const cell = (value: number): string => String(value).padStart(9);
  const time = (value: number): string => value.toFixed(1).padStart(9);
  const line = (name: string, { ok, passed, failed, skipped, ...rest }: Sums & Pick<SuiteTotal, "ok">): string => {
    const mark = ok ? styleText("green", "ok  ") : styleText("red", "FAIL");
    const counts = [passed, failed, skipped].map(cell).join("");
    return `${mark} ${name.padEnd(12)}${counts}${time(rest.seconds)}${time(rest.cpuSeconds)}`;
  };
  const names = ["passed", "failed", "skipped", "time s", "cpu s"].map((word) => word.padStart(9)).join("");
  const all = { ...sum(totals), ok: totals.every(({ ok }) => ok), seconds };
  const lines = [...totals.map((total) => line(total.suite, total)), line("all", all)];
  return `${styleText("bold", `     ${"suite".padEnd(12)}${names}`)}\n${lines.join("\n")}\n`;
}
