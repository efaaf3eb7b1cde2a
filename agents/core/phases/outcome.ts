import { limits } from "../limits.ts";
import { nonAnswerIn, NON_ANSWER_OUTCOMES } from "../request/non-answers.ts";
import { holdsHonest } from "../quorum.ts";
import { seatsOf } from "../seat/order.ts";
import { ONE_PPM, type Attempt, type Digest, type Outcome, type Ppm, type SeatIndex } from "../types.ts";
import { decisionConfidence } from "./backing.ts";
import { FLAT, SAFE_RIGHT, meritsOf, type Blind, type Decided, type Merit } from "./pay.ts";

/** The result of a deliberation, before reputation changes and pay shares follow from it. */
export interface Resolution {
  /** The winning answer, with the confidence that the protocol has its own rule for (else CF9); null if the attempt is Hung. */
  readonly winner: (Decided & { readonly confidence?: Ppm }) | null;
  readonly blind: Blind;
  /** Per seat: the number of slashes it deserves. */
  readonly slashes: readonly number[];
  /** Seats that did all that the deciding round asked of them. */
  readonly completed: readonly SeatIndex[];
  /** True if most seats answer nothing blind (LL15, AD9). */
  readonly fewBlind?: boolean;
}

/** Makes an outcome (PH8, PY4, PY5, PY6, PY10, SK1): what blind answers earn, cost and teach, beside the slashes. */
export function outcomeFrom(attempt: Attempt, resolution: Resolution): Outcome {
  const { winner, blind, slashes, completed, fewBlind = false } = resolution;
  const isClean = ({ seat }: { readonly seat: SeatIndex }): boolean => slashes[seat] === 0;
  const heard = { answers: blind.answers.filter(isClean), overdue: blind.overdue.filter(isClean) };
  const merits = meritsOf(attempt, winner, heard);
  const meritOf = (seat: SeatIndex) => merits.find((one) => one.seat === seat);
  const earned = seatsOf(attempt).map((seat) => (completed.includes(seat) ? (meritOf(seat)?.share ?? 0) : 0));
  // A set that has a little in common with the decided one shows nothing: it is easily guessed.
  const knowers = earned.filter((share) => 2 * share >= SAFE_RIGHT);
  // PY6: of all seats, not of those that answered: else a seat of the asker's own took all where others cannot answer, or do not.
  const isScored =
    earned.some((share) => share > 0) && (fewBlind || holdsHonest(knowers.length, attempt.committee.length));
  // Else each of the many would gain by rejecting what is right.
  const isUnpaid = fewBlind && winner !== null && attempt.request.terms.kind !== "text";
  const shares = isScored || isUnpaid ? earned : alike(attempt, resolution);
  const reputationChanges = seatsOf(attempt).flatMap((seat) => {
    const falls = meritOf(seat)?.falls === true ? 1 : Math.min(slashes[seat] as number, limits.maxSlashes);
    if (falls > 0) return [{ seat, steps: -falls }];
    return shares[seat] !== 0 && attempt.committee[seat]?.reputation !== ONE_PPM ? [{ seat, steps: 1 }] : [];
  });
  const common = { reputationChanges, shares, ...lessonsOf(merits) };
  if (winner === null)
    return { ...common, status: "hung", outcome: `0x${"00".repeat(32)}` as Digest, answer: "", confidence: 0 as Ppm };
  const { answer, confidence = decisionConfidence(shares) } = winner;
  const nonAnswer = nonAnswerIn(answer);
  // EQ6: the chain has a status for it, and Reality.eth's constant.
  if (nonAnswer !== null)
    return { ...common, status: nonAnswer, outcome: NON_ANSWER_OUTCOMES[nonAnswer], answer: "", confidence };
  return { ...common, status: "decided", outcome: answer.outcome, answer: answer.text, confidence };
}

/**
 * PY6: the shares where no seat earns by its score, since no draw is free (ADR 11). Those who answered blind come before others that worked, who
 * could gain by turning the decision against them else. But a third of the seats or fewer could all be the asker's own, where others cannot answer,
 * or their replies are cut off. Then all earn.
 */
function alike(attempt: Attempt, { blind, slashes, completed, fewBlind = false }: Resolution): readonly number[] {
  const seats = seatsOf(attempt);
  const unslashed = seats.filter((seat) => slashes[seat] === 0);
  // Of more than a third one is honest. A question can have each seat slashed under MB16, and must not be free for that.
  const blameless = holdsHonest(seats.length - unslashed.length, seats.length) ? seats : unslashed;
  const isOne = (of: readonly { readonly seat: SeatIndex }[], seat: SeatIndex) => of.some((one) => one.seat === seat);
  const worked = blameless.filter((seat) => completed.includes(seat) && !isOne(blind.overdue, seat));
  const answered = worked.filter((seat) => isOne(blind.answers, seat));
  const areEnough = (group: readonly SeatIndex[]): boolean =>
    fewBlind ? group.length > 0 : holdsHonest(group.length, seats.length);
  const paid = [answered, worked].find(areEnough) ?? blameless;
  return seats.map((seat) => (paid.includes(seat) ? FLAT : 0));
}

/** SK1: a decision that outvotes nobody teaches nothing. */
function lessonsOf(merits: readonly Merit[]): Pick<Outcome, "answered" | "agreed"> {
  const seatsWith = (isOne: (agrees: boolean) => boolean): readonly SeatIndex[] =>
    merits
      .flatMap(({ seat, agrees }) => (agrees !== null && isOne(agrees) ? seat : []))
      .toSorted((one, other) => one - other);
  const isContested = merits.some(({ agrees }) => agrees === false);
  return isContested
    ? { answered: seatsWith(() => true), agreed: seatsWith((agrees) => agrees) }
    : { answered: [], agreed: [] };
}
