import { answerClasses } from "../../phases/equivalence.ts";
import { limits } from "../../limits.ts";
import { canonicalRanks, seatsOf } from "../../seat/order.ts";
import { isMajority, isSupermajority } from "../../quorum.ts";
import type { Candidate } from "../../phases/proposals.ts";
import { counted, equivocatorsIn, said, type RoundBook, type Closure } from "../../phases/round-book.ts";
import { ONE_PPM, type Attempt, type Digest, type Ppm, type SeatIndex } from "../../types.ts";
import { SLASH_FACTOR_PPM, type MbftConfig } from "./config.ts";
import { countedClass, voteForm, votesOn, type AnswerClass, type SeatVote } from "../../phases/votes.ts";
import { judgeForm } from "./payloads.ts";

/** A class with its leader. */
export interface LedClass extends AnswerClass {
  /** The member with the greatest rho * tau. */
  readonly leader: Candidate;
}

export interface CounterProof {
  readonly author: SeatIndex;
  readonly target: Digest;
  /** Outcome of the answer that it refutes. */
  readonly outcome: Digest;
  readonly text: string;
  readonly tier: Ppm;
  /** The classes that it is against. Judges judge the answer of the first one, which is the refuted one if a class would decide that. */
  readonly against: readonly [LedClass, ...LedClass[]];
}

/** MB11: what the judges make of a counter-proof. */
export type Ruling = "upheld" | "refuted" | "dismissed";

export interface ClassResult {
  readonly class: LedClass;
  /** Sum of the supporters' weights, in ppm^2. */
  readonly sum: bigint;
  readonly supporters: readonly SeatIndex[];
  readonly counterProofs: readonly (CounterProof & { readonly ruling: Ruling })[];
  /** MB13. */
  readonly isVetoed: boolean;
  readonly mayCommit: boolean;
}

export interface RoundResult {
  readonly classes: readonly ClassResult[];
  readonly winner: ClassResult | null;
  /** Slashes per seat in this round: 0, 1 or more. */
  readonly slashes: readonly number[];
  /** Seats with a proposal and a vote that count. */
  readonly participants: readonly SeatIndex[];
}

/**
 * MB6: distinct answers, each with its leader, at most `limits.classesPerRound`. Those of most members come first, of equals the heaviest:
 * a few loud seats with an answer each cannot crowd out an answer of many.
 */
export function classesOf(
  book: RoundBook,
  reputations: readonly Ppm[],
  candidates: readonly Candidate[],
  closure: Closure,
): readonly LedClass[] {
  const { attempt } = book;
  const order = leaderOrder(attempt, reputations, candidates);
  const rank = (candidate: Candidate) => order.indexOf(candidate);
  const classes = answerClasses(book, candidates, closure).map((group): LedClass => {
    const members = order.filter((candidate) => group.seats.includes(candidate.seat));
    const shown = members.find(({ answer }) => answer.outcome === group.representative.outcome) as Candidate;
    return { answer: group.representative, members, leader: members[0] as Candidate, shown };
  });
  const sorted = classes.toSorted((a, b) => {
    if (a.members.length !== b.members.length) return b.members.length - a.members.length;
    const difference = weightOf(reputations, b.members) - weightOf(reputations, a.members);
    return difference === 0n ? rank(a.leader) - rank(b.leader) : difference > 0n ? 1 : -1;
  });
  return sorted.slice(0, limits.classesPerRound);
}

/** MB7: argmax rho * tau, canonical tie-break (paper Eq. 1). */
export function leaderOrder(
  attempt: Attempt,
  reputations: readonly Ppm[],
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const ranks = canonicalRanks(attempt);
  return candidates.toSorted((a, b) => {
    const difference = weight(reputations, b.seat, b.tier) - weight(reputations, a.seat, a.tier);
    return difference === 0n ? (ranks[a.seat] as number) - (ranks[b.seat] as number) : difference > 0n ? 1 : -1;
  });
}

function weightOf(reputations: readonly Ppm[], weighed: readonly Pick<Candidate, "seat" | "tier">[]): bigint {
  return weighed.reduce((sum, { seat, tier }) => sum + weight(reputations, seat, tier), 0n);
}

/** rho * tau in ppm^2. */
function weight(reputations: readonly Ppm[], seat: SeatIndex, tier: Ppm): bigint {
  return BigInt(reputations[seat] as Ppm) * BigInt(tier);
}

/**
 * MB10: the counter-proofs of a round, at most `limits.counterProofsPerRound`. Every author's first counter-proof (against the first
 * class that it rejects) comes before any author's second; then they go by rho * tau, then by canonical order.
 */
export function counterProofsOf(
  { attempt }: RoundBook,
  reputations: readonly Ppm[],
  classes: readonly LedClass[],
  votes: readonly SeatVote<LedClass>[],
): readonly CounterProof[] {
  const ranks = canonicalRanks(attempt);
  const rejections = votes.filter(({ vote }) => vote.verdict === "reject");
  const all = seatsOf(attempt).flatMap((author) => {
    const own = rejections.filter(({ seat }) => seat === author);
    // A rejection of a text that is in two classes is one.
    return [...new Set(own.map(({ vote }) => vote))].map((vote, place) => {
      const { target, outcome, counterProof: text, tier } = vote;
      const about = (one: LedClass): boolean =>
        own.some((each) => each.vote === vote && each.class === one) || answersOf(one).includes(outcome);
      const isOf = (one: LedClass): number => Number(one.answer.outcome === outcome);
      const against = classes.filter(about).toSorted((a, b) => isOf(b) - isOf(a)) as [LedClass, ...LedClass[]];
      return { proof: { author, target, outcome, text, tier, against }, place };
    });
  });
  const sorted = all.toSorted((a, b) => {
    if (a.place !== b.place) return a.place - b.place;
    const difference =
      weight(reputations, b.proof.author, b.proof.tier) - weight(reputations, a.proof.author, a.proof.tier);
    if (difference !== 0n) return difference > 0n ? 1 : -1;
    return (ranks[a.proof.author] as number) - (ranks[b.proof.author] as number);
  });
  return sorted.slice(0, limits.counterProofsPerRound).map(({ proof }) => proof);
}

function answersOf({ members }: LedClass): readonly Digest[] {
  return members.map(({ answer }) => answer.outcome);
}

/** MB11: upheld by more than 1/2 of all seats, refuted by more than 2/3 of all seats, else dismissed. The author has no vote. */
function rulingOn(book: RoundBook, proof: CounterProof): Ruling {
  const seats = book.attempt.committee.length;
  const verdicts = seatsOf(book.attempt).flatMap((seat) => {
    const judge = seat === proof.author ? null : said(book, judgeForm, seat);
    const found = judge?.body.judgements.find((one) => one.author === proof.author && one.target === proof.target);
    return found === undefined ? [] : [found.verdict];
  });
  if (isMajority(verdicts.filter((verdict) => verdict === "uphold").length, seats)) return "upheld";
  return isSupermajority(verdicts.filter((verdict) => verdict === "refute").length, seats) ? "refuted" : "dismissed";
}

/** Evaluates one round under the reputations at its start. `candidates` are the proposals that count. */
export function evaluateRound(
  book: RoundBook,
  config: MbftConfig,
  reputations: readonly Ppm[],
  candidates: readonly Candidate[],
): RoundResult {
  const { attempt } = book;
  const classes = classesOf(book, reputations, candidates, "closed");
  const votes = votesOn(book, classes, "closed");
  const proofs = counterProofsOf(book, reputations, classes, votes).map((proof) => ({
    ...proof,
    ruling: rulingOn(book, proof),
  }));
  const results = classes.map((one) => evaluateClass(attempt, config, reputations, one, votes, proofs));
  const slashes = slashesOf(book, reputations, candidates, results);
  const participants = candidates
    .map(({ seat }) => seat)
    .filter((seat) => counted(book, voteForm, seat, "closed") !== null);
  return { classes: results, winner: best(attempt, results), slashes, participants };
}

function evaluateClass(
  attempt: Attempt,
  config: MbftConfig,
  reputations: readonly Ppm[],
  answerClass: LedClass,
  votes: readonly SeatVote<LedClass>[],
  proofs: ClassResult["counterProofs"],
): ClassResult {
  const { committee, request } = attempt;
  const against = proofs.filter((proof) => proof.against.includes(answerClass));
  const accepts = votes.filter((one) => one.class === answerClass && one.vote.verdict === "accept");
  const behind = [...answerClass.members, ...accepts.map(({ seat, vote: { tier } }) => ({ seat, tier }))];
  const supporters = behind.map(({ seat }) => seat);
  const upheld = against.filter((proof) => proof.ruling === "upheld");
  const doubts = upheld.map(({ author, tier }) => ({ seat: author, tier }));
  const sum = weightOf(reputations, behind) - weightOf(reputations, doubts);
  // MB13: only an author of full reputation vetoes, and only with an upheld counter-proof (Eq. 3).
  const isVetoed = upheld.some((proof) => reputations[proof.author] === ONE_PPM);
  const isAccepted = request.terms.assurance === "high" ? isSupermajority : isMajority;
  const isCounted = countedClass(attempt, [answerClass]) !== null;
  const mayCommit = isCounted || (sum >= config.theta && isAccepted(supporters.length, committee.length) && !isVetoed);
  return { class: answerClass, sum, supporters, counterProofs: against, isVetoed, mayCommit };
}

/**
 * MB14: the class with most members among those that may commit; of equals the one with the greatest sum, then the one whose leader comes
 * first in canonical order.
 */
function best(attempt: Attempt, results: readonly ClassResult[]): ClassResult | null {
  const ranks = canonicalRanks(attempt);
  const rank = (result: ClassResult) => ranks[result.class.leader.seat] as number;
  const [winner] = results
    .filter(({ mayCommit }) => mayCommit)
    .toSorted((a, b) => {
      if (a.class.members.length !== b.class.members.length) return b.class.members.length - a.class.members.length;
      return a.sum === b.sum ? rank(a) - rank(b) : a.sum > b.sum ? -1 : 1;
    });
  return winner ?? null;
}

/** MB16: slashes authors of refuted counter-proofs, equivocators, and the first in leader order if an upheld counter-proof refutes it. */
function slashesOf(
  book: RoundBook,
  reputations: readonly Ppm[],
  candidates: readonly Candidate[],
  results: readonly ClassResult[],
): readonly number[] {
  const slashes = book.attempt.committee.map(() => 0);
  const slash = (seat: SeatIndex) => (slashes[seat] = (slashes[seat] as number) + 1);
  // Judges look at what a class would decide. So a counter-proof of another answer shows neither its author nor that answer's seat wrong.
  const proofs = results
    .flatMap((result) => result.counterProofs)
    .filter(({ against: [judged], outcome }) => judged.answer.outcome === outcome);
  for (const author of new Set(proofs.filter((proof) => proof.ruling === "refuted").map((proof) => proof.author)))
    slash(author);
  const first = leaderOrder(book.attempt, reputations, candidates)[0];
  const upheld = proofs.filter((proof) => proof.ruling === "upheld");
  if (first && upheld.some(({ outcome }) => outcome === first.answer.outcome)) slash(first.seat);
  for (const seat of equivocatorsIn(book)) slash(seat);
  return slashes;
}

/** MB16: multiplies rho by sigma once per slash, rounded down, never below 1 ppm. It never increases within a decision. */
export function applySlashes(reputations: readonly Ppm[], slashes: readonly number[]): readonly Ppm[] {
  return reputations.map((reputation, seat) => {
    let value: number = reputation;
    for (let i = 0; i < (slashes[seat] as number); i++)
      value = Math.max(1, Math.floor((value * SLASH_FACTOR_PPM) / ONE_PPM));
    return value as Ppm;
  });
}
