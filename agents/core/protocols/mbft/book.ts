import { canonicalAnswer, type CanonicalAnswer } from "../../answer.ts";
import { seatsOf } from "../../order.ts";
import { isMajority } from "../../quorum.ts";
import { spoken, variants, type Tally } from "../../tally.ts";
import type { Attempt, Digest, Message, Ppm, SeatIndex, Value } from "../../types.ts";
import { COMMIT, JUDGE, REVEAL, VOTE } from "./config.ts";
import {
  commitmentOf,
  decodeCommit,
  decodeJudgements,
  decodeReveal,
  decodeVotes,
  type CommitPayload,
  type JudgePayload,
  type RevealPayload,
  type Seen,
  type VotePayload,
} from "./payloads.ts";

/** A proposal that counts: committed, revealed, canonical. */
export interface Candidate {
  readonly seat: SeatIndex;
  /** Payload digest of the reveal; what votes name. */
  readonly target: Digest;
  readonly answer: CanonicalAnswer;
  readonly proof: string;
  readonly tier: Ppm;
}

interface Said<Payload> {
  readonly digest: Digest;
  readonly payload: Payload;
}

/** One round of a message set, decoded; indices are seats. A void slot is null here. */
export interface RoundBook {
  readonly attempt: Attempt;
  readonly round: number;
  readonly commits: readonly (Said<CommitPayload> | null)[];
  readonly reveals: readonly (Said<RevealPayload> | null)[];
  readonly votes: readonly (Said<VotePayload> | null)[];
  readonly judgements: readonly (Said<JudgePayload> | null)[];
  /** Seats that said two things in one slot. */
  readonly equivocators: readonly SeatIndex[];
  /** Every revealed answer that a vote may name, those of void slots included: nobody takes votes back by equivocating. */
  readonly revealed: readonly Candidate[];
}

const books = new WeakMap<Tally, Map<number, RoundBook>>();

/** Reads a round; a tally never changes, so each is read once. */
export function readRound(attempt: Attempt, tally: Tally, round: number): RoundBook {
  const known = books.get(tally)?.get(round);
  if (known !== undefined && known.attempt === attempt) return known;
  const book = decodeRound(attempt, tally, round);
  books.set(tally, (books.get(tally) ?? new Map<number, RoundBook>()).set(round, book));
  return book;
}

function decodeRound(attempt: Attempt, tally: Tally, round: number): RoundBook {
  const seats = seatsOf(attempt);
  const read = <Payload>(phase: number, decode: (payload: Value) => Payload | null) =>
    seats.map((seat): Said<Payload> | null => {
      const message = spoken(tally, phase, round, seat);
      const payload = message === null || message === "void" ? null : decode(message.payload);
      return payload === null ? null : { digest: (message as Message).header.payloadDigest, payload };
    });
  const phases = [COMMIT, REVEAL, VOTE, JUDGE];
  return {
    attempt,
    round,
    commits: read(COMMIT, decodeCommit),
    reveals: read(REVEAL, (payload) => decodeReveal(attempt, payload)),
    votes: read(VOTE, (payload) => decodeVotes(attempt, payload)),
    judgements: read(JUDGE, (payload) => decodeJudgements(attempt, payload)),
    equivocators: seats.filter((seat) => phases.some((phase) => spoken(tally, phase, round, seat) === "void")),
    revealed: seats.flatMap((seat) =>
      variants(tally, REVEAL, round, seat).flatMap(({ header, payload }) =>
        candidateIn(attempt, seat, header.payloadDigest, decodeReveal(attempt, payload)),
      ),
    ),
  };
}

function candidateIn(
  attempt: Attempt,
  seat: SeatIndex,
  target: Digest,
  payload: RevealPayload | null,
): readonly Candidate[] {
  const proposal = payload?.proposal;
  const answer = proposal ? canonicalAnswer(attempt.request.terms, proposal.answer) : null;
  return proposal && answer !== null ? [{ seat, target, answer, proof: proposal.proof, tier: proposal.tier }] : [];
}

/** What a seat held of the phase before, for its next message. */
export function seenOf(said: readonly (Said<unknown> | null)[]): Seen {
  return said.map((one) => one?.digest ?? null);
}

/**
 * MB4: more than half of the seats held the message when they spoke in the phase after it. What was withheld then does not
 * count later, whoever brings it.
 */
function isWitnessed(
  book: RoundBook,
  seat: SeatIndex,
  digest: Digest,
  next: readonly (Said<{ readonly seen: Seen }> | null)[],
): boolean {
  const witnesses = next.filter((one) => one?.payload.seen[seat] === digest).length;
  return isMajority(witnesses, book.attempt.committee.length);
}

/**
 * MB3, MB4: the proposals that count, in seat order. While the round runs (`open`) nobody can have witnessed the reveals yet.
 */
export function candidatesOf(book: RoundBook, stage: "open" | "closed"): readonly Candidate[] {
  return seatsOf(book.attempt).flatMap((seat) => {
    const reveal = book.reveals[seat] ?? null;
    if (reveal === null || !opensCommitment(book, seat, reveal.payload)) return [];
    if (stage === "closed" && !isWitnessed(book, seat, reveal.digest, book.votes)) return [];
    return candidateIn(book.attempt, seat, reveal.digest, reveal.payload);
  });
}

function opensCommitment(book: RoundBook, seat: SeatIndex, { proposal }: RevealPayload): boolean {
  const commit = book.commits[seat] ?? null;
  if (commit === null || proposal === null || !isWitnessed(book, seat, commit.digest, book.reveals)) return false;
  return commit.payload.commitment === commitmentOf(book.attempt, book.round, seat, proposal, proposal.salt);
}

/** A seat's votes, if they count: null when it said none that more than half of the seats held in time (MB4). */
export function votesOf(book: RoundBook, seat: SeatIndex, stage: "open" | "closed"): VotePayload["votes"] | null {
  const vote = book.votes[seat] ?? null;
  if (vote === null || (stage === "closed" && !isWitnessed(book, seat, vote.digest, book.judgements))) return null;
  return vote.payload.votes;
}
