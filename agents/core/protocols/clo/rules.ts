import { limits } from "../../limits.ts";
import { answerClasses } from "../../phases/equivalence.ts";
import { candidatesOf } from "../../phases/proposals.ts";
import type { Closure, RoundBook } from "../../phases/round-book.ts";
import { countedClass, votesOn, type AnswerClass, type SeatVote } from "../../phases/votes.ts";
import { faultTolerance } from "../../quorum.ts";
import { canonicalRanks } from "../../seat/order.ts";
import { ONE_PPM, type Attempt, type Ppm, type SeatIndex } from "../../types.ts";

export interface ClassResult {
  readonly class: AnswerClass;
  /** Seats that did not give the answer and accepted it, and no other. */
  readonly acceptors: readonly SeatIndex[];
  /** CL6: members' skills and what accepts add, less what rejects take. */
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

/** CL3: what the agreement of a seat counts. */
function skillOf({ committee }: Attempt, seat: SeatIndex): number {
  return (committee[seat] as Attempt["committee"][number]).skill;
}

/** CL5: what a verdict of a seat counts: its skill, at most the lower median of the committee's. */
function verdictOf(attempt: Attempt, seat: SeatIndex): number {
  const sorted = attempt.committee.map(({ skill }) => skill).toSorted((a, b) => a - b);
  return Math.min(skillOf(attempt, seat), sorted[Math.floor((sorted.length - 1) / 2)] as number);
}

/** CL3: distinct answers, at most `limits.classesPerRound`, those whose members count most first; ties go by canonical order. */
export function classesOf(book: RoundBook, closure: Closure): readonly AnswerClass[] {
  const { attempt } = book;
  const ranks = canonicalRanks(attempt);
  const rank = ({ seat }: { readonly seat: SeatIndex }): number => ranks[seat] as number;
  const candidates = candidatesOf(book, closure).toSorted(
    (a, b) => skillOf(attempt, b.seat) - skillOf(attempt, a.seat) || rank(a) - rank(b),
  );
  const classes = answerClasses(book, candidates, closure).map((group): AnswerClass => {
    const members = candidates.filter(({ seat }) => group.seats.includes(seat));
    const shown = members.find(({ answer }) => answer.outcome === group.representative.outcome) as (typeof members)[0];
    return { answer: group.representative, members, shown };
  });
  return classes
    .toSorted((a, b) => skillsOf(attempt, b) - skillsOf(attempt, a) || rankOf(attempt, a) - rankOf(attempt, b))
    .slice(0, limits.classesPerRound);
}

function skillsOf(attempt: Attempt, { members }: AnswerClass): number {
  return members.reduce((sum, { seat }) => sum + skillOf(attempt, seat), 0);
}

/** The place of a class among equal ones: an author cannot choose a better one by its answer's bytes. */
function rankOf(attempt: Attempt, { members }: AnswerClass): number {
  const ranks = canonicalRanks(attempt);
  return Math.min(...members.map(({ seat }) => ranks[seat] as number));
}

/** CL4 to CL8: evaluates one round. */
export function evaluateRound(book: RoundBook): RoundResult {
  const { attempt } = book;
  const answers = classesOf(book, "closed");
  const votes = votesOn(book, answers, "closed");
  const classes = answers
    .map((one) => evaluateClass(attempt, one, votes))
    .toSorted((a, b) => b.score - a.score || rankOf(attempt, a.class) - rankOf(attempt, b.class));
  const counted = countedClass(attempt, answers);
  if (counted !== null) return { classes, winner: classes.find((one) => one.class === counted) ?? null, isTied: false };
  const [winner, next] = classes.filter(({ isAdmissible }) => isAdmissible);
  return { classes, winner: winner ?? null, isTied: winner !== undefined && winner.score === next?.score };
}

function evaluateClass(attempt: Attempt, one: AnswerClass, votes: readonly SeatVote<AnswerClass>[]): ClassResult {
  const about = votes.filter((vote) => vote.class === one);
  const acceptors = about.flatMap(({ seat, vote }) => (vote.verdict === "accept" ? [seat] : []));
  const judged = about.reduce(
    (sum, { seat, vote }) => sum + verdictOf(attempt, seat) * (vote.verdict === "accept" ? 1 : -1),
    0,
  );
  const supporters = one.members.length + acceptors.length;
  return {
    class: one,
    acceptors,
    score: skillsOf(attempt, one) + judged,
    isAdmissible: supporters >= supportersNeeded(attempt),
  };
}

/** CL7: members and acceptors that a class needs: one honest seat at least, at high assurance more than 2/3 of all. */
export function supportersNeeded({ committee, request }: Attempt): number {
  const n = committee.length;
  return request.terms.assurance === "high" ? Math.floor((2 * n) / 3) + 1 : faultTolerance(n) + 1;
}

/** CL9: the part of all skills that stands behind the winner. */
export function confidenceOf(attempt: Attempt, { class: won, acceptors }: ClassResult): Ppm {
  const all = attempt.committee.reduce((sum, { skill }) => sum + skill, 0);
  const behind = skillsOf(attempt, won) + acceptors.reduce((sum, seat) => sum + verdictOf(attempt, seat), 0);
  return Math.floor((behind * ONE_PPM) / all) as Ppm;
}
