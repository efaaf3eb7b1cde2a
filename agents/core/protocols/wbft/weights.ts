import { type CanonicalAnswer } from "../../request/kinds.ts";
import { answerClasses } from "../../phases/equivalence.ts";
import { limits } from "../../limits.ts";
import { canonicalRanks, seatsOf } from "../../seat/order.ts";
import { candidatesOf, type Candidate } from "../../phases/proposals.ts";
import { faultTolerance, isMajority, isSupermajority } from "../../quorum.ts";
import { counted, type RoundBook, type Closure } from "../../phases/round-book.ts";
import { TOTAL_MAX, totalOf } from "../../phases/scores.ts";
import { entryOn } from "../../phases/votes.ts";
import { ONE_PPM, type Attempt, type SeatIndex } from "../../types.ts";
import { scoresForm } from "./payloads.ts";

/** A class of agreeing answers. */
export interface WeighedClass {
  readonly answer: CanonicalAnswer;
  /** The members in canonical order of their seats. */
  readonly members: readonly Candidate[];
}

/** WB7: parts of quality and trust in a weight, alpha = 0.4 and beta = 0.6, in tenths. */
const ALPHA = 4;
const BETA = 6;

/** WB4: the classes of view 0, the largest first; ties go by the first member's canonical rank. */
export function weighedClasses(book: RoundBook, closure: Closure = "closed"): readonly WeighedClass[] {
  const ranks = canonicalRanks(book.attempt);
  const rank = (candidate: Candidate): number => ranks[candidate.seat] as number;
  const candidates = candidatesOf(book, closure).toSorted((a, b) => rank(a) - rank(b));
  const classes = answerClasses(book, candidates, closure).map(({ representative, seats }): WeighedClass => ({
    answer: representative,
    members: candidates.filter(({ seat }) => seats.includes(seat)),
  }));
  const first = ({ members }: WeighedClass): number => rank(members[0] as Candidate);
  return classes.toSorted((a, b) => b.members.length - a.members.length || first(a) - first(b));
}

/** WB5: the answers that every seat marks: the one of each class, at most `limits.classesPerRound`. No two classes have the same. */
export function toScore(classes: readonly WeighedClass[]): readonly Candidate[] {
  return classes
    .slice(0, limits.classesPerRound)
    .map(({ answer, members }) => members.find((one) => one.answer.outcome === answer.outcome) as Candidate);
}

/** WB6, WB7, WB8: the weight of every seat, from the scores of view 0 and the reputations as drawn. Every weight is positive. */
export function weightsOf(book: RoundBook, classes: readonly WeighedClass[]): readonly number[] {
  const { committee } = book.attempt;
  const qualities = qualitiesOf(book, classes);
  const weights = committee.map(
    ({ reputation }, seat) => (ALPHA * (qualities[seat] as number) * ONE_PPM) / TOTAL_MAX + BETA * reputation,
  );
  return capped(weights, faultTolerance(committee.length));
}

/** WB6: per seat, the lower median of the totals that the n - 1 others give its answer; an absent total is 0, and so is a seat without an answer. */
export function qualitiesOf(book: RoundBook, classes: readonly WeighedClass[]): readonly number[] {
  const seats = seatsOf(book.attempt);
  return seats.map((seat) => {
    const own = classes.find(({ members }) => members.some((member) => member.seat === seat));
    if (own === undefined) return 0;
    const given = seats.filter((other) => other !== seat).map((other) => totalFor(book, own, other));
    return given.toSorted((a, b) => a - b)[Math.floor((given.length - 1) / 2)] as number;
  });
}

/** The total that a seat gives a class: its one score for any answer of it. Two scores cancel to 0, like an absent score. */
function totalFor(book: RoundBook, own: WeighedClass, seat: SeatIndex): number {
  const scores = counted(book, scoresForm, seat, "closed")?.body.scores ?? [];
  const entries = scores.map(({ target, marks }) => ({ outcome: target, marks }));
  const marks = entryOn(book.attempt, candidatesOf(book, "closed"), own, entries)?.marks;
  return marks ? totalOf(marks) : 0;
}

/**
 * WB8: weights cut at the greatest level at which any f seats together weigh less than 1/3. The excess of the total over three
 * times the f heaviest is concave in the level, and positive at the least weight (there all are equal, and n > 3f), so bisection finds it.
 */
export function capped(weights: readonly number[], faulty: number): readonly number[] {
  const cutAt = (level: number): readonly number[] => weights.map((weight) => Math.min(weight, level));
  let low = Math.min(...weights);
  let high = Math.max(...weights);
  while (low < high) {
    const middle = Math.floor((low + high + 1) / 2);
    if (isBalanced(cutAt(middle), faulty)) low = middle;
    else high = middle - 1;
  }
  return cutAt(low);
}

function isBalanced(weights: readonly number[], faulty: number): boolean {
  const heaviest = weights.toSorted((a, b) => b - a).slice(0, faulty);
  return 3 * sumOf(heaviest) < sumOf(weights);
}

export function sumOf(weights: readonly number[]): number {
  return weights.reduce((sum, weight) => sum + weight, 0);
}

/** WB9: true for more than 2/3 of the weight and more than 1/2 of the seats; 2/3 of the seats at high assurance. */
export function isQuorum(
  { request, committee }: Attempt,
  weights: readonly number[],
  seats: readonly SeatIndex[],
): boolean {
  const weight = sumOf(seats.map((seat) => weights[seat] as number));
  const areEnough = request.terms.assurance === "high" ? isSupermajority : isMajority;
  return isSupermajority(weight, sumOf(weights)) && areEnough(seats.length, committee.length);
}
