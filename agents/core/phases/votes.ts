import { hexToBytes } from "../encoding/bytes.ts";
import { isMapOf } from "../encoding/codec.ts";
import { asDigest, hasTwice, isTextOf, listOf } from "../encoding/payload.ts";
import { limits } from "../limits.ts";
import { verifyPrompt } from "../prompts/task-prompt.ts";
import { isSupermajority } from "../quorum.ts";
import { isSameAnswer } from "../request/answer.ts";
import type { CanonicalAnswer } from "../request/kinds.ts";
import { clipText } from "../request/text.ts";
import { seatsOf } from "../seat/order.ts";
import type { Attempt, Digest, Ppm, SeatIndex, Value } from "../types.ts";
import type { Answered, Call, SeatView } from "./phased-rules.ts";
import { shownAnswer } from "./reasons.ts";
import { candidatesOf, revealIn, revealedIn, type Candidate } from "./proposals.ts";
import { counted, said, type Closure, type Form, type RoundBook } from "./round-book.ts";
import { isTier, tierOf } from "./tiers.ts";

/**
 * The count of a round's answers (MB20), and votes on them: their form in a message, the calls that ask for them, and which of them count
 * (MB8, MB9).
 */

/** The phase after COMMIT, REVEAL and, for texts, MATCH. */
export const VOTE = 10;

export type Verdict = "accept" | "reject" | "abstain";

export interface Vote {
  /** Payload digest of the reveal voted on. It binds answer and proof; the header binds the round (MB9). */
  readonly target: Digest;
  /** Outcome of the answer in that reveal; it counts even if the reveal is not in the set (MB9). */
  readonly outcome: Digest;
  readonly verdict: Verdict;
  readonly tier: Ppm;
  /** The counter-proof of a rejection, else empty. */
  readonly counterProof: string;
}

export interface Votes {
  readonly votes: readonly Vote[];
}

export const voteForm: Form<Votes> = {
  name: "vote",
  phase: VOTE,
  encode: ({ votes }) => ({
    votes: votes.map(({ target, outcome, verdict, tier, counterProof }) => ({
      target: hexToBytes(target),
      outcome: hexToBytes(outcome),
      verdict,
      tier,
      counterProof,
    })),
  }),
  decode: (_, value) => {
    const votes = isMapOf(value, ["votes"]) ? listOf(value["votes"], limits.classesPerRound, decodeVote) : null;
    return votes === null || hasTwice(votes, (vote) => vote.target) ? null : { votes };
  },
};

function decodeVote(entry: Value): Vote | null {
  if (!isMapOf(entry, ["counterProof", "outcome", "target", "tier", "verdict"])) return null;
  const { counterProof, tier, verdict } = entry;
  const target = asDigest(entry["target"]);
  const outcome = asDigest(entry["outcome"]);
  if (target === null || outcome === null) return null;
  if (!isTier(tier) || !isTextOf(counterProof, limits.counterProofBytes)) return null;
  if (verdict !== "accept" && verdict !== "reject" && verdict !== "abstain") return null;
  // MB5: a rejection without a counter-proof is an abstention, and must be stated as one.
  return (verdict === "reject") === (counterProof !== "") ? { target, outcome, verdict, tier, counterProof } : null;
}

/** Candidates with equal canonical answers. */
export interface AnswerClass {
  readonly answer: CanonicalAnswer;
  readonly members: readonly Candidate[];
  /** The first member, strongest first, whose own answer is the answer of the class: seats verify the answer that would be decided. */
  readonly shown: Candidate;
}

/** MB20: the class that more than 2/3 of all seats gave; null without one. */
export function countedClass<One extends AnswerClass>({ committee }: Attempt, classes: readonly One[]): One | null {
  return classes.find(({ members }) => isSupermajority(members.length, committee.length)) ?? null;
}

/** PH14: in words how many seats gave each answer, where the count decides; null where it does not. */
export function explainCount(attempt: Attempt, classes: readonly AnswerClass[]): readonly string[] | null {
  const winner = countedClass(attempt, classes);
  if (winner === null) return null;
  return classes.map((one) => {
    const seats = `${shownAnswer(one.answer.text)}: answered by ${one.members.length} of ${attempt.committee.length} seats`;
    return one === winner ? `${seats}, more than 2/3: that decides` : seats;
  });
}

/**
 * The calls that verify each class but the own one, all at once. Where the count decides nobody has to (MB20). In a later round a seat that
 * gave another answer verifies that one class all the same: in the round before it may have been shown a count that nobody else saw.
 */
export function verifyCalls(
  { attempt, earlier, self }: Pick<SeatView<unknown>, "attempt" | "earlier" | "self">,
  classes: readonly AnswerClass[],
): readonly Call[] {
  const winner = countedClass(attempt, classes);
  const asked = winner === null ? classes : earlier.length === 0 ? [] : [winner];
  const foreign = asked.filter(({ members }) => !members.some(({ seat }) => seat === self));
  return foreign.map(({ shown }) => ({
    about: ["verify", shown.target],
    prompt: verifyPrompt(attempt, shown.answer.text, shown.proof),
  }));
}

/** The votes that follow from what the model said. MB5: an unusable reply is an abstention. */
export function votesFrom(book: RoundBook, answered: readonly Answered[]): Votes {
  return { votes: answered.flatMap((answer) => voteFrom(book, answer)) };
}

function voteFrom(book: RoundBook, { about, fields, confidence }: Answered): readonly Vote[] {
  const verified = revealedIn(book).find(({ target }) => target === about[1]);
  if (verified === undefined) return [];
  const { target } = verified;
  const { outcome } = verified.answer;
  const tier = tierOf(confidence);
  const text = clipText(fields["check"] ?? "", limits.counterProofBytes).trim();
  if (fields["verdict"] === "accept") return [{ target, outcome, verdict: "accept", tier, counterProof: "" }];
  return fields["verdict"] === "reject" && text !== ""
    ? [{ target, outcome, verdict: "reject", tier, counterProof: text }]
    : [];
}

/** The verdicts of a seat that are about something, if its VOTE counts. */
function votesOf(book: RoundBook, seat: SeatIndex, closure: Closure): readonly Vote[] {
  const votes = counted(book, voteForm, seat, closure)?.body.votes ?? [];
  return votes.filter((vote) => vote.verdict !== "abstain" && !contradictsReveal(book, vote));
}

/** A seat's vote on a class that it is no member of. */
export interface SeatVote<One extends AnswerClass> {
  readonly seat: SeatIndex;
  readonly class: One;
  readonly vote: Vote;
}

/**
 * MB9: all votes that count. A seat that accepts two answers besides its own has accepted none: they exclude each other. MB20: where the
 * count decides, no vote counts.
 */
export function votesOn<One extends AnswerClass>(
  book: RoundBook,
  classes: readonly One[],
  closure: Closure,
): readonly SeatVote<One>[] {
  if (countedClass(book.attempt, classes) !== null) return [];
  const candidates = candidatesOf(book, "closed");
  return seatsOf(book.attempt).flatMap((seat) => {
    const given = votesOf(book, seat, closure);
    const votes = classes
      .filter(({ members }) => !members.some((member) => member.seat === seat))
      .flatMap((one): readonly SeatVote<One>[] => {
        const vote = entryOn(book.attempt, candidates, one, given);
        return vote === null ? [] : [{ seat, class: one, vote }];
      });
    const rejections = votes.filter(({ vote }) => vote.verdict === "reject");
    return votes.length - rejections.length < 2 ? votes : rejections;
  });
}

/**
 * MB9: a vote is about the answer in the named reveal, whoever revealed it. A set holds at most two reveals of a seat, so the named one
 * may be missing: therefore the vote names the outcome, too. A vote that contradicts its reveal is about nothing; but of a void slot seats
 * may hold different pairs, so that no conclusion depends on which two they are.
 */
function contradictsReveal(book: RoundBook, { target, outcome }: Vote): boolean {
  const named = revealedIn(book).find((one) => one.target === target && said(book, revealIn(book), one.seat) !== null);
  return named !== undefined && named.answer.outcome !== outcome;
}

/**
 * MB9, WB6: what a seat says of a class: its one entry for an answer that a member gave. Where it has none, it is its one entry for an
 * answer that no seat gave in time, if that agrees with the class's: so an answer whose seat took it back takes no vote with it. Null if it has
 * none, or several, which conflict.
 * @param candidates all answers of the round that count
 */
export function entryOn<Entry extends { readonly outcome: Digest }>(
  { request }: Attempt,
  candidates: readonly Candidate[],
  { answer, members }: Pick<AnswerClass, "answer" | "members">,
  entries: readonly Entry[],
): Entry | null {
  const gave = (seats: readonly Candidate[], outcome: Digest): boolean =>
    seats.some((one) => one.answer.outcome === outcome);
  const exact = entries.filter(({ outcome }) => gave(members, outcome));
  const near = (): readonly Entry[] =>
    entries.filter(({ outcome }) => !gave(candidates, outcome) && isSameAnswer(request.terms, answer, { outcome }));
  const [entry, other] = exact.length > 0 ? exact : near();
  return other === undefined ? (entry ?? null) : null;
}
