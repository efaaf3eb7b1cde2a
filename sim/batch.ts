import type { Violation } from "./checkers/index.ts";
import { decodeMessage, readRoot } from "../agents/core/encoding/transcript.ts";
import type { DecisionStatus, Digest } from "../agents/core/types.ts";
import { forget } from "./fast/memo.ts";
import type { SimOptions } from "./options.ts";
import { createPlan } from "./plan.ts";
import { honestSeats, type Trace } from "./trace.ts";
import { runWorld } from "./world.ts";

/** Numbers of one world's run, and what the checkers found. */
export interface SeedResult {
  readonly seed: number;
  readonly hash: string;
  readonly status: DecisionStatus | "stalled";
  readonly violations: readonly Violation[];
  readonly frames: number;
  readonly bytes: number;
  readonly modelCalls: number;
  /** Longest chain of model calls behind the certified transcript; null without a certificate. */
  readonly criticalPathCalls: number | null;
  readonly virtualMs: number;
  readonly counts: Trace["counts"];
  /** Processor time of this thread. */
  readonly cpuMs: number;
}

/** A function that checks a trace, e.g. `violationsIn` of checkers/index.ts. */
export type Checking = (trace: Trace) => readonly Violation[];

export async function runSeed(options: SimOptions, seed: number, violationsIn: Checking): Promise<SeedResult> {
  forget();
  const before = process.threadCpuUsage();
  const result = summarize(await runWorld(createPlan(options, seed)), violationsIn);
  const { user, system } = process.threadCpuUsage(before);
  return { ...result, cpuMs: (user + system) / 1000 };
}

function summarize(trace: Trace, violationsIn: Checking): Omit<SeedResult, "cpuMs"> {
  const honest = honestSeats(trace);
  const certified = honest.flatMap(({ certificates }) => certificates[0] ?? []);
  const first = certified.toSorted((a, b) => a.at - b.at)[0];
  const isStalled = certified.length < honest.length;
  return {
    seed: trace.seed,
    hash: trace.hash,
    status: first === undefined || isStalled ? "stalled" : first.certificate.decision.status,
    violations: violationsIn(trace),
    frames: trace.sent.frames,
    bytes: trace.sent.bytes,
    modelCalls: trace.seats.reduce((sum, { modelCalls }) => sum + modelCalls, 0),
    criticalPathCalls: first === undefined ? null : callsBehind(trace, first.certificate.decision.transcript),
    virtualMs: trace.endedAt,
    counts: trace.counts,
  };
}

/** Returns the longest chain of model calls behind a transcript. */
export function callsBehind(trace: Trace, transcript: Digest): number {
  const root = trace.block(transcript);
  const read = root === null ? null : readRoot(trace.attempt, trace.protocol, root);
  if (read === null || "refused" in read) return 0;
  return read.messages.reduce((most, digest) => {
    const bytes = trace.block(digest);
    const message = bytes === null ? null : decodeMessage(bytes);
    return Math.max(most, message === null ? 0 : (trace.depths.get(message.signature) ?? 0));
  }, 0);
}
