import { limits } from "../../limits.ts";
import { canonicalOrder } from "../../seat/order.ts";
import { faultTolerance } from "../../quorum.ts";
import type { Attempt, SeatIndex } from "../../types.ts";

/** LL4: the largest number of rounds; the second has other workers. */
export const ROUNDS = 2;

export interface Split {
  readonly workers: number;
  readonly evaluators: number;
  /** f_e: number of hostile or silent evaluators that are tolerated, floor((N_e - 1) / 2). Never below f (LL2). */
  readonly faultyEvaluators: number;
  /** f_w of the paper, floor((N_w - 1) / 2). No rule reads it: one right worker is enough. */
  readonly faultyWorkers: number;
}

/** LL2: all seats but 2f + 1 evaluators work; at most as many as the answers an evaluator marks. */
export function splitOf(seats: number): Split {
  const spare = seats - (2 * faultTolerance(seats) + 1);
  const workers = Math.min(spare, limits.classesPerRound);
  const evaluators = seats - workers;
  return { workers, evaluators, faultyEvaluators: minority(evaluators), faultyWorkers: minority(workers) };
}

/** The bound of the geometric median (section III-C3): the largest f with 2f < N. */
function minority(seats: number): number {
  return Math.floor((seats - 1) / 2);
}

export interface Roles {
  /** Workers and evaluators are in canonical order. */
  readonly workers: readonly SeatIndex[];
  readonly evaluators: readonly SeatIndex[];
}

const rolesOfAttempt = new WeakMap<Attempt, readonly Roles[]>();

/** LL3: the last seats in canonical order work, in the next round the seats before them. No evaluator works. */
export function rolesOf(attempt: Attempt, round: number): Roles {
  const known = rolesOfAttempt.get(attempt) ?? Array.from({ length: ROUNDS }, (_, of) => drawRoles(attempt, of));
  rolesOfAttempt.set(attempt, known);
  return known[round] as Roles;
}

function drawRoles(attempt: Attempt, round: number): Roles {
  const order = canonicalOrder(attempt);
  const { workers: size } = splitOf(order.length);
  const workers = order.slice(order.length - (round + 1) * size, order.length - round * size);
  return { workers, evaluators: order.filter((seat) => !workers.includes(seat)) };
}
