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
  /** CL7: seats that gave the answer or accepted it. */
  readonly supporters: readonly SeatIndex[];
  /** CL7: these, and seats that have it among their other samples. */
  readonly holders: readonly SeatIndex[];
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

/** An answer class, and what it counts. */
interface WeighedClass extends AnswerClass {
  /** CL3: what the samples that gave its answer count. */
  readonly weight: number;
  /** Seats that gave its answer, or have it among their other samples. */
  readonly samplers: readonly SeatIndex[];
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

/**
 * CL3: distinct answers, at most `limits.classesPerRound`, those that count most first; ties go by canonical order.
 * @param earlier the answers of earlier rounds that count as well (CL5): a seat has one in each round
 */
export function classesOf(
  book: RoundBook,
  closure: Closure,
  earlier: readonly Candidate[] = [],
): readonly WeighedClass[] {
  const { attempt } = book;
  const ranks = canonicalRanks(attempt);
  const rank = ({ seat }: { readonly seat: SeatIndex }): number => ranks[seat] as number;
  const weights = weightsOf(attempt);
  const candidates = [...earlier, ...candidatesOf(book, closure)].toSorted(
    (a, b) => (weights[b.seat] as number) - (weights[a.seat] as number) || rank(a) - rank(b),
  );
  // A seat may have answers of several rounds, so these are numbered. Only texts are compared by seats, and count in their own round alone.
  const tells = tellsSamples(attempt);
  const numbered = candidates.map(({ seat, answer }, index) => ({ seat: tells ? (index as SeatIndex) : seat, answer }));
  const classes = answerClasses(book, numbered, closure).map((group): AnswerClass => {
    const members = candidates.filter((_, index) => group.seats.includes((numbered[index] as SeatAnswer).seat));
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
function weighed(attempt: Attempt, classes: readonly AnswerClass[]): readonly WeighedClass[] {
  const weights = weightsOf(attempt);
  const answers = classes.flatMap(({ members }) => members);
  const tells = tellsSamples(attempt);
  const own = ({ tier }: Candidate): number => (tells ? TIERS.indexOf(tier) + 1 : limits.samples);
  return classes.map((one) => {
    const gave = (outcome: Digest): boolean => one.members.some(({ answer }) => answer.outcome === outcome);
    const samplesOf = (candidate: Candidate): number =>
      one.members.includes(candidate) ? own(candidate) : Number(candidate.others?.some(gave) === true);
    const counting = answers.filter((candidate) => samplesOf(candidate) > 0);
    return {
      ...one,
      weight: counting.reduce((sum, candidate) => sum + samplesOf(candidate) * (weights[candidate.seat] as number), 0),
      samplers: distinct(counting.map(({ seat }) => seat)),
    };
  });
}

function distinct(seats: readonly SeatIndex[]): readonly SeatIndex[] {
  return [...new Set(seats)];
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
export function evaluateRound(book: RoundBook, earlier: readonly Candidate[]): RoundResult {
  const { attempt } = book;
  const own = classesOf(book, "closed");
  const counted = countedClass(attempt, own);
  const answers = counted === null && earlier.length > 0 ? classesOf(book, "closed", earlier) : own;
  const votes = votesOn(book, answers, "closed");
  const classes = answers
    .map((one) => evaluateClass(attempt, one, votes))
    .toSorted((a, b) => b.score - a.score || rankOf(attempt, a.class) - rankOf(attempt, b.class));
  if (counted !== null) return { classes, winner: classes.find((one) => one.class === counted) ?? null, isTied: false };
  // CL5: nobody has judged the answers yet, neither by a verdict nor by drawing again.
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
  const supporters = distinct([...one.members.map(({ seat }) => seat), ...acceptors]);
  const holders = distinct([...supporters, ...one.samplers]);
  const needed = seatsNeeded(attempt);
  return {
    class: one,
    acceptors,
    supporters,
    holders,
    score: one.weight + judged,
    isAdmissible: supporters.length >= needed.supporters && holders.length >= needed.holders,
  };
}

/** CL7: supporters that a class needs, one honest seat at least, and holders, at high assurance more than 2/3 of all seats. */
export function seatsNeeded({ committee, request }: Attempt): {
  readonly supporters: number;
  readonly holders: number;
} {
  const n = committee.length;
  const supporters = faultTolerance(n) + 1;
  return { supporters, holders: request.terms.assurance === "high" ? quorumOf(n) : supporters };
}
