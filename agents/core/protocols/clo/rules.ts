import { limits } from "../../limits.ts";
import { answerClasses } from "../../phases/equivalence.ts";
import { candidatesOf } from "../../phases/proposals.ts";
import type { Closure, RoundBook } from "../../phases/round-book.ts";
import { countedClass, isIn, votesOn, type AnswerClass, type SeatVote } from "../../phases/votes.ts";
import { faultTolerance, quorumOf } from "../../quorum.ts";
import { canonicalRanks } from "../../seat/order.ts";
import type { Attempt, SeatIndex } from "../../types.ts";

export interface ClassResult {
  readonly class: WeighedClass;
  /** Seats that did not give the answer and accepted it, and no other. */
  readonly acceptors: readonly SeatIndex[];
  /** CL6: what samples and accepts count, less what rejects count. */
  readonly score: number;
  /** CL7. */
  readonly isAdmissible: boolean;
}

export interface RoundResult {
  /** All classes, the best first. */
  readonly classes: readonly ClassResult[];
  /** CL8: the class that decides; null without one. */
  readonly winner: ClassResult | null;
  /** True if another class is as good as the winner. */
  readonly isTied: boolean;
}

/** An answer class, and what it counts. */
export interface WeighedClass extends AnswerClass {
  /** CL3: what the samples of all seats that gave its answer count. */
  readonly weight: number;
}

/** CL3: what a sample or a verdict of a seat counts, and what it counts with skill 1. */
const FULL = 3;
const LESS = 2;

/** CL3: what a sample or a verdict of each seat counts. */
function weightsOf({ committee }: Attempt): readonly number[] {
  const low = committee.filter(({ skill }) => skill === 1).length;
  const isTold = low <= faultTolerance(committee.length) + 1;
  return committee.map(({ skill }) => (isTold && skill === 1 ? LESS : FULL));
}

/** CL3: distinct answers, at most `limits.classesPerRound`, those that count most first; ties go by canonical order. */
export function classesOf(book: RoundBook, closure: Closure): readonly WeighedClass[] {
  const { attempt } = book;
  const ranks = canonicalRanks(attempt);
  const rank = ({ seat }: { readonly seat: SeatIndex }): number => ranks[seat] as number;
  const weights = weightsOf(attempt);
  const candidates = candidatesOf(book, closure).toSorted(
    (a, b) => (weights[b.seat] as number) - (weights[a.seat] as number) || rank(a) - rank(b),
  );
  const classes = answerClasses(book, candidates, closure).map((group): AnswerClass => {
    const members = candidates.filter(({ seat }) => group.seats.includes(seat));
    const shown = members.find(({ answer }) => answer.outcome === group.representative.outcome) as (typeof members)[0];
    return { answer: group.representative, members, shown };
  });
  return weighed(attempt, classes)
    .toSorted((a, b) => b.weight - a.weight || rankOf(attempt, a) - rankOf(attempt, b))
    .slice(0, limits.classesPerRound);
}

/**
 * CL3: a seat's samples count for its answer, but for those that gave something else: each counts for the class of that, the first if it
 * lies between two, or for none if no seat's answer is in it.
 */
function weighed(attempt: Attempt, classes: readonly AnswerClass[]): readonly WeighedClass[] {
  const weights = weightsOf(attempt);
  const counts = classes.map(() => 0);
  const add = (place: number, samples: number, seat: SeatIndex): void => {
    if (place >= 0) counts[place] = (counts[place] as number) + samples * (weights[seat] as number);
  };
  for (const [place, { members }] of classes.entries())
    for (const { seat, others = [] } of members) {
      add(place, limits.samples - others.length, seat);
      for (const other of others)
        add(
          classes.findIndex((one) => isIn(attempt, one, other)),
          1,
          seat,
        );
    }
  return classes.map((one, place) => ({ ...one, weight: counts[place] as number }));
}

/** The place of a class among equal ones: an author cannot choose a better one by its answer's bytes. */
function rankOf(attempt: Attempt, { members }: AnswerClass): number {
  const ranks = canonicalRanks(attempt);
  return Math.min(...members.map(({ seat }) => ranks[seat] as number));
}

/** CL4: the class that decides before anybody is asked for a verdict; null without one. */
export function countedFirst(attempt: Attempt, classes: readonly WeighedClass[]): WeighedClass | null {
  const counted = countedClass(attempt, classes);
  if (counted !== null || attempt.request.terms.assurance === "high") return counted;
  const all = limits.samples * weightsOf(attempt).reduce((sum, weight) => sum + weight, 0);
  return classes.find(({ weight }) => 2 * weight > all) ?? null;
}

/** CL4 to CL8: evaluates one round. */
export function evaluateRound(book: RoundBook): RoundResult {
  const { attempt } = book;
  const answers = classesOf(book, "closed");
  const first = countedFirst(attempt, answers);
  const votes = first === null ? votesOn(book, answers, "closed") : [];
  const classes = answers
    .map((one) => evaluateClass(attempt, one, votes))
    .toSorted((a, b) => b.score - a.score || rankOf(attempt, a.class) - rankOf(attempt, b.class));
  if (first !== null) return { classes, winner: classes.find((one) => one.class === first) ?? null, isTied: false };
  const [winner, next] = classes.filter(({ isAdmissible }) => isAdmissible);
  return { classes, winner: winner ?? null, isTied: winner !== undefined && winner.score === next?.score };
}

function evaluateClass(attempt: Attempt, one: WeighedClass, votes: readonly SeatVote<WeighedClass>[]): ClassResult {
  const about = votes.filter((vote) => vote.class === one);
  const acceptors = about.flatMap(({ seat, vote }) => (vote.verdict === "accept" ? [seat] : []));
  const weights = weightsOf(attempt);
  const judged = about.reduce(
    (sum, { seat, vote }) => sum + (weights[seat] as number) * (vote.verdict === "accept" ? 1 : -1),
    0,
  );
  const supporters = one.members.length + acceptors.length;
  return {
    class: one,
    acceptors,
    score: one.weight + judged,
    isAdmissible: supporters >= supportersNeeded(attempt),
  };
}

/** CL7: members and acceptors that a class needs: one honest seat at least, at high assurance more than 2/3 of all. */
export function supportersNeeded({ committee, request }: Attempt): number {
  const n = committee.length;
  return request.terms.assurance === "high" ? quorumOf(n) : faultTolerance(n) + 1;
}
