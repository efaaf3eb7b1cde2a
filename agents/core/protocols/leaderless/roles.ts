import { limits } from "../../limits.ts";
import { canonicalOrder } from "../../seat/order.ts";
import { faultTolerance } from "../../quorum.ts";
import type { Attempt, SeatIndex } from "../../types.ts";

/** LL4: at most so many rounds; the second has other workers. */
export const ROUNDS = 2;

export interface Split {
  readonly workers: number;
  readonly evaluators: number;
  /** f_e: hostile or silent evaluators borne, floor((N_e - 1) / 2). Never below f (LL2). */
  readonly evaluatorFaults: number;
  /** f_w of the paper, floor((N_w - 1) / 2). Stated only: no rule needs more than one right worker. */
  readonly workerFaults: number;
}

/** LL2: as many workers as leave 2f + 1 evaluators, at most as many as an evaluator marks answers. */
export function splitOf(seats: number): Split {
  const spare = seats - (2 * faultTolerance(seats) + 1);
  const workers = Math.min(spare, limits.classesPerRound);
  const evaluators = seats - workers;
  return { workers, evaluators, evaluatorFaults: minority(evaluators), workerFaults: minority(workers) };
}

/** The bound of the geometric median (section III-C3): the largest f with 2f < N. */
function minority(members: number): number {
  return Math.floor((members - 1) / 2);
}

export interface Roles {
  /** In canonical order, as are the evaluators. */
  readonly workers: readonly SeatIndex[];
  readonly evaluators: readonly SeatIndex[];
}

const rolesOfAttempt = new WeakMap<Attempt, readonly Roles[]>();

/** LL3: the last seats in canonical order work; in the next round the ones before them. Disjoint from the evaluators. */
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
