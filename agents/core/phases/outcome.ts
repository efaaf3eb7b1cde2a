import { limits } from "../limits.ts";
import type { CanonicalAnswer } from "../request/kinds.ts";
import { seatsOf } from "../seat/order.ts";
import { ONE_PPM, type Attempt, type Digest, type Outcome, type Ppm, type SeatIndex } from "../types.ts";

/** The result of a deliberation, before reputations and shares are settled. */
export interface Resolution {
  /** The winning answer; null if the attempt is Hung. */
  readonly winner: {
    readonly answer: CanonicalAnswer;
    readonly confidence: Ppm;
    readonly supporters: readonly SeatIndex[];
  } | null;
  /** Per seat: the number of slashes it deserves. */
  readonly slashes: readonly number[];
  /** Seats that did all that the deciding round asked of them. */
  readonly completed: readonly SeatIndex[];
}

/**
 * Settles an outcome (PH8). Reputation: a slashed seat loses its slashes, at most `limits.maxSlashes`; a completed seat below full
 * reputation recovers one step. Shares: a completed seat that was not slashed gets 2 if it supported the winner, else 1.
 */
export function settle(attempt: Attempt, { winner, slashes, completed }: Resolution): Outcome {
  const isSlashed = (seat: SeatIndex): boolean => (slashes[seat] as number) > 0;
  const earns = (seat: SeatIndex): boolean => completed.includes(seat) && !isSlashed(seat);
  const reputationChanges = seatsOf(attempt).flatMap((seat) => {
    if (isSlashed(seat)) return [{ seat, steps: -Math.min(slashes[seat] as number, limits.maxSlashes) }];
    return earns(seat) && attempt.committee[seat]?.reputation !== ONE_PPM ? [{ seat, steps: 1 }] : [];
  });
  const shares = seatsOf(attempt).map((seat) => (earns(seat) ? (winner?.supporters.includes(seat) ? 2 : 1) : 0));
  const common = { reputationChanges, shares };
  if (winner === null)
    return { ...common, status: "hung", outcome: `0x${"00".repeat(32)}` as Digest, answer: "", confidence: 0 as Ppm };
  const { answer, confidence } = winner;
  return { ...common, status: "decided", outcome: answer.outcome, answer: answer.text, confidence };
}
