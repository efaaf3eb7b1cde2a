import { judge, type Violation } from "./checkers/index.ts";
import type { SimOptions } from "./options.ts";
import { createPlan } from "./plan.ts";
import { honestSeats, type Trace } from "./trace.ts";
import { runWorld } from "./world.ts";

/** One world's run in numbers, with what the checkers found. */
export interface SeedResult {
  readonly seed: number;
  readonly hash: string;
  readonly status: "decided" | "hung" | "stalled";
  readonly violations: readonly Violation[];
  readonly frames: number;
  readonly bytes: number;
  readonly modelCalls: number;
  /** Of the first honest seat with a certificate; null when none has one. */
  readonly criticalPathCalls: number | null;
  readonly virtualMs: number;
  readonly counts: Trace["counts"];
}

export async function runSeed(options: SimOptions, seed: number): Promise<SeedResult> {
  return summarize(await runWorld(createPlan(options, seed)));
}

export function summarize(trace: Trace): SeedResult {
  const honest = honestSeats(trace);
  const certified = honest.flatMap(({ certificates }) => certificates[0] ?? []);
  const first = certified.toSorted((a, b) => a.at - b.at)[0];
  const isStalled = certified.length < honest.length;
  return {
    seed: trace.seed,
    hash: trace.hash,
    status: first === undefined || isStalled ? "stalled" : first.certificate.decision.status,
    violations: judge(trace),
    frames: trace.sent.frames,
    bytes: trace.sent.bytes,
    modelCalls: trace.seats.reduce((sum, { modelCalls }) => sum + modelCalls, 0),
    criticalPathCalls: first?.depth ?? null,
    virtualMs: trace.endedAt,
    counts: trace.counts,
  };
}
