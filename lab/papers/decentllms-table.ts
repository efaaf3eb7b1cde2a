import { ranking } from "../references/leaderless-baselines.ts";
import { APPROVED, robustScore } from "../../agents/core/protocols/leaderless/select.ts";
import { isMajority } from "../../agents/core/quorum.ts";
import type { Marks } from "../../agents/core/phases/scores.ts";

/** DecentLLMs, Table I: totals of the honest evaluators e0..e7 for the workers w0..w8 and the Byzantine w9. */
export const HONEST = [
  [63, 95, 92, 75, 46, 50, 92, 96, 95, 6],
  [21, 98, 99, 55, 45, 41, 89, 99, 100, 22],
  [33, 100, 75, 45, 40, 35, 99, 100, 85, 0],
  [60, 80, 100, 80, 50, 94, 82, 82, 82, 38],
  [52, 83, 66, 57, 44, 84, 84, 83, 66, 35],
  [49, 53, 60, 19, 42, 27, 66, 66, 66, 7],
  [31, 52, 79, 49, 27, 17, 79, 84, 49, 34],
  [75, 100, 80, 100, 50, 64, 100, 100, 100, 39],
] as const;
/** Totals of a colluding evaluator. */
export const COLLUDER = [0, 0, 0, 0, 0, 0, 0, 0, 0, 100] as const;
/** Workers whose answers are right. */
export const CORRECT: readonly number[] = [1, 2, 3, 6, 7];
/** The paper's robust scores, with one colluder. */
export const PAPER_SCORES = [45.1, 83.8, 80.4, 55.6, 43.5, 42.0, 84.5, 88.2, 83.0, 28.5] as const;
/** The worker that colluders push. */
export const PUSHED = 9;

/**
 * Spreads a total over the criteria as evenly as integers allow, the rest to the first ones: the paper prints totals,
 * not vectors.
 */
function spread(total: number): Marks {
  return Array.from({ length: 5 }, (_, index) => Math.floor(total / 5) + (index < total % 5 ? 1 : 0));
}

/** Returns robust scores of all workers, in 1/1000, with `colluders` colluders beside the honest evaluators. */
export function replay(colluders: number): readonly number[] {
  const rows = sheets(colluders);
  return COLLUDER.map((_, worker) => robustScore(rows.map((row) => spread(row[worker] as number))));
}

export interface Resilience {
  readonly colluders: number;
  readonly best: number;
  /** Place of the pushed worker, from 1. */
  readonly pushedRank: number;
  readonly bestHonestScore: number;
  readonly pushedScore: number;
  /**
   * Best worker by LL8, too: the best of those that more than half of the evaluators approve; null = none is
   * approved, so the round has no winner.
   */
  readonly approvedBest: number | null;
}

/** Fig. 8: the selected worker with that many colluders. */
export function resilienceAt(colluders: number): Resilience {
  const scores = replay(colluders);
  const order = ranking(scores);
  const rows = sheets(colluders);
  const isApproved = (worker: number): boolean =>
    isMajority(rows.filter((row) => (row[worker] as number) >= APPROVED).length, rows.length);
  return {
    colluders,
    best: order[0] as number,
    pushedRank: order.indexOf(PUSHED) + 1,
    bestHonestScore: Math.max(...scores.slice(0, PUSHED)) / 1000,
    pushedScore: (scores[PUSHED] as number) / 1000,
    approvedBest: order.find(isApproved) ?? null,
  };
}

function sheets(colluders: number): readonly (readonly number[])[] {
  return [...HONEST, ...Array.from({ length: colluders }, () => COLLUDER)];
}
