import { limits } from "../limits.ts";
import type { CanonicalAnswer } from "../request/kinds.ts";
import { seatsOf } from "../seat/order.ts";
import { ONE_PPM, type Attempt, type Digest, type Outcome, type Ppm, type SeatIndex } from "../types.ts";
import { meritsOf, type BlindAnswer, type Decided } from "./pay.ts";

/** The result of a deliberation, before reputations and shares are settled. */
export interface Resolution {
  /** The winning answer; null if the attempt is Hung. */
  readonly winner: (Decided & { readonly confidence: Ppm }) | null;
  /** PY1: the answers that can earn. */
  readonly blind: readonly BlindAnswer[];
  /** Per seat: the number of slashes it deserves. */
  readonly slashes: readonly number[];
  /** Seats that did all that the deciding round asked of them. */
  readonly completed: readonly SeatIndex[];
}

/** Settles an outcome (PH8, PY4, PY5, PY6): slashes, then shares for blind answers, then recovery of the seats that earn. */
export function settle(attempt: Attempt, { winner, blind, slashes, completed }: Resolution): Outcome {
  const merits = winner === null ? [] : meritsOf(attempt, winner, blind);
  const falls = slashes.map((count, seat) => count + (merits.some((one) => one.seat === seat && one.misled) ? 1 : 0));
  const shares = falls.map((fall, seat) =>
    fall === 0 && completed.includes(seat as SeatIndex) ? (merits.find((one) => one.seat === seat)?.share ?? 0) : 0,
  );
  const reputationChanges = seatsOf(attempt).flatMap((seat) => {
    const fall = falls[seat] as number;
    if (fall > 0) return [{ seat, steps: -Math.min(fall, limits.maxSlashes) }];
    return shares[seat] !== 0 && attempt.committee[seat]?.reputation !== ONE_PPM ? [{ seat, steps: 1 }] : [];
  });
  const common = { reputationChanges, shares };
  if (winner === null)
    return { ...common, status: "hung", outcome: `0x${"00".repeat(32)}` as Digest, answer: "", confidence: 0 as Ppm };
  const { answer, confidence } = winner;
  return { ...common, status: "decided", outcome: answer.outcome, answer: answer.text, confidence };
}
