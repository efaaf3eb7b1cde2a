import { limits } from "../../limits.ts";
import { answerClasses } from "../../phases/equivalence.ts";
import { candidatesOf, type Candidate } from "../../phases/proposals.ts";
import type { Closure, RoundBook } from "../../phases/round-book.ts";
import { countedClass, votesOn, type AnswerClass, type SeatVote } from "../../phases/votes.ts";
import { TIERS } from "../../phases/tiers.ts";
import { faultTolerance, quorumOf } from "../../quorum.ts";
import type { SeatAnswer } from "../../request/answer.ts";
import { canonicalRanks } from "../../seat/order.ts";
import type { Attempt, Digest, SeatIndex } from "../../types.ts";

export interface ClassResult {
  readonly class: WeighedClass;
  /** Seats that did not give the answer and accepted it, and no other. */
  readonly acceptors: readonly SeatIndex[];
  /** CL7: how many seats gave the answer or accepted it. */
  readonly supporters: number;
  /** CL6: what samples and accepts count, less what rejects count. */
  readonly score: number;
  /** CL7. */
  readonly isAdmissible: boolean;
}

export interface RoundResult {
  /** All classes, the best first. */
  readonly classes: readonly ClassResult[];
  /** CL4, CL8: the class that decides; null without one. */
  readonly winner: ClassResult | null;
  /** True if another class is as good as the winner. */
  readonly isTied: boolean;
}

/** An answer of a round. */
export interface CountedAnswer extends Candidate {
  /** How many samples its seat has for it. */
  readonly samples: number;
}

interface CountedClass extends AnswerClass {
  readonly members: readonly CountedAnswer[];
}

/** An answer class, and what it counts. */
interface WeighedClass extends CountedClass {
  /** CL3: what the samples that gave its answer count. */
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

/** CL3, CL5: the answers that count of a round; the first round's have the samples that their tiers say, of a later round each is one sample. */
export function answersIn(book: RoundBook, closure: Closure): readonly CountedAnswer[] {
  const isTold = tellsSamples(book.attempt);
  return candidatesOf(book, closure).map((candidate) => {
    const told = book.round === 0 ? TIERS.indexOf(candidate.tier) + 1 : 1;
    return { ...candidate, samples: isTold ? told : limits.samples };
  });
}

/**
 * CL3: distinct answers, at most `limits.classesPerRound`, those that count most first; ties go by canonical order.
 * @param earlier the answers of earlier rounds that count as well (CL5)
 */
export function classesOf(
  book: RoundBook,
  closure: Closure,
  earlier: readonly CountedAnswer[] = [],
): readonly WeighedClass[] {
  const { attempt } = book;
  const ranks = canonicalRanks(attempt);
  const rank = ({ seat }: { readonly seat: SeatIndex }): number => ranks[seat] as number;
  const weights = weightsOf(attempt);
  const counted = [...earlier, ...answersIn(book, closure)].toSorted(
    (a, b) => (weights[b.seat] as number) - (weights[a.seat] as number) || rank(a) - rank(b),
  );
  // A seat may have an answer in each round, so answers are numbered. Seats compare texts alone, and of those only the own round's count.
  const isTold = tellsSamples(attempt);
  const numbered = counted.map(({ seat, answer }, index) => ({ seat: isTold ? (index as SeatIndex) : seat, answer }));
  const classes = answerClasses(book, numbered, closure).map((group): CountedClass => {
    const members = counted.filter((_, index) => group.seats.includes((numbered[index] as SeatAnswer).seat));
    const shown = members.find(({ answer }) => answer.outcome === group.representative.outcome) as (typeof members)[0];
    return { answer: group.representative, members, shown };
  });
  return weighed(attempt, classes)
    .toSorted((a, b) => b.weight - a.weight || rankOf(attempt, a) - rankOf(attempt, b))
    .slice(0, limits.classesPerRound);
}

/** CL2: whether seats tell what their other samples gave. Texts differ in their words, and a source's answer needs a citation (SG9). */
export function tellsSamples({ request }: Attempt): boolean {
  return request.terms.kind !== "text" && request.isSourced !== true;
}

/** CL3: what counts for each class: the samples of its members that gave their answer, and one of each other answer with a member's among its others. */
function weighed(attempt: Attempt, classes: readonly CountedClass[]): readonly WeighedClass[] {
  const weights = weightsOf(attempt);
  const answers = classes.flatMap(({ members }) => members);
  return classes.map((one) => {
    const gave = (outcome: Digest): boolean => one.members.some(({ answer }) => answer.outcome === outcome);
    const weight = answers.reduce((sum, answer) => {
      const samples = one.members.includes(answer) ? answer.samples : Number(answer.others?.some(gave) === true);
      return sum + samples * (weights[answer.seat] as number);
    }, 0);
    return { ...one, weight };
  });
}

/** The place of a class among equal ones: an author cannot choose a better one by its answer's bytes. */
function rankOf(attempt: Attempt, { members }: AnswerClass): number {
  const ranks = canonicalRanks(attempt);
  return Math.min(...members.map(({ seat }) => ranks[seat] as number));
}

/**
 * CL4 to CL8: evaluates one round.
 * @param earlier the answers of earlier rounds that count as well (CL5)
 */
export function evaluateRound(book: RoundBook, earlier: readonly CountedAnswer[]): RoundResult {
  const { attempt } = book;
  const own = classesOf(book, "closed");
  const counted = countedClass(attempt, own);
  const answers = counted === null && earlier.length > 0 ? classesOf(book, "closed", earlier) : own;
  const votes = votesOn(book, answers, "closed");
  const classes = answers
    .map((one) => evaluateClass(attempt, one, votes))
    .toSorted((a, b) => b.score - a.score || rankOf(attempt, a.class) - rankOf(attempt, b.class));
  if (counted !== null) return { classes, winner: classes.find((one) => one.class === counted) ?? null, isTied: false };
  // CL5: nobody has judged the answers yet, neither by a verdict nor by sampling again.
  if (tellsSamples(attempt) && book.round === 0) return { classes, winner: null, isTied: false };
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
  const supporters = new Set([...one.members.map(({ seat }) => seat), ...acceptors]).size;
  return {
    class: one,
    acceptors,
    supporters,
    score: one.weight + judged,
    isAdmissible: supporters >= supportersNeeded(attempt),
  };
}

/** CL7: seats that must have given or accepted an answer: one honest seat at least, at high assurance more than 2/3 of all. */
export function supportersNeeded({ committee, request }: Attempt): number {
  const n = committee.length;
  return request.terms.assurance === "high" ? quorumOf(n) : faultTolerance(n) + 1;
}
