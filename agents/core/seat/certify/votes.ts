/**
 * The vote keeper: it names the thresholds that the votes of a ballot reach, in the words of Tendermint and Malachite. A polka is
 * more than 2/3 of the prevotes. Every seat counts once. The rules that thresholds trigger are in rules.ts.
 */
import { PRECOMMIT, PREVOTE, decodeVote } from "./messages.ts";
import { decisionOf } from "./signatures.ts";
import type { CertifyState, GoodRoot, Verified } from "./state.ts";
import { seatsOf } from "../order.ts";
import { holdsHonest, isSupermajority } from "../../quorum.ts";
import { messagesOf, variants, type Tally } from "../tally.ts";
import type { Attempt, Certificate, Digest, Message, SeatIndex } from "../../types.ts";

/** More than 2/3 of the seats prevoted a root that this seat has replayed. */
export interface PolkaValue {
  readonly kind: "polka-value";
  readonly root: Digest;
  readonly ballot: number;
  readonly proposed: GoodRoot;
}

/** More than 2/3 of the seats signed the decision of a root that this seat has replayed. */
export interface PrecommitValue {
  readonly kind: "precommit-value";
  readonly certificate: Certificate;
  readonly proposed: GoodRoot;
}

export type Threshold =
  | PrecommitValue
  /** More than 1/3 of the seats, hence an honest one, are in a later ballot. */
  | { readonly kind: "skip"; readonly ballot: number }
  | PolkaValue
  | { readonly kind: "polka-nil" }
  /** More than 2/3 of the seats prevoted, whatever they prevoted. */
  | { readonly kind: "prevote-any" }
  /** More than 2/3 of the seats precommitted, whatever they precommitted. */
  | { readonly kind: "precommit-any" };

/** The polkas and completed votes of the current ballot. */
export function* thresholdsOfBallot(state: CertifyState, attempt: Attempt): Generator<Threshold> {
  const { votes, ballot } = state;
  const seats = attempt.committee.length;
  yield* polkaValues(state, attempt, ballot);
  if (isPolka(votes, attempt, ballot, null)) yield { kind: "polka-nil" };
  if (isSupermajority(votersIn(votes, attempt, PREVOTE, ballot), seats)) yield { kind: "prevote-any" };
  if (isSupermajority(votersIn(votes, attempt, PRECOMMIT, ballot), seats)) yield { kind: "precommit-any" };
}

/** The polkas of the ballots between the one of the valid value and the current one, latest first. */
export function* earlierPolkas(state: CertifyState, attempt: Attempt): Generator<PolkaValue> {
  for (let ballot = state.ballot - 1; ballot > (state.valid?.ballot ?? -1); ballot--)
    yield* polkaValues(state, attempt, ballot);
}

function* polkaValues(state: CertifyState, attempt: Attempt, ballot: number): Generator<PolkaValue> {
  for (const [root, proposed] of state.roots)
    if (proposed.kind === "good" && isPolka(state.votes, attempt, ballot, root))
      yield { kind: "polka-value", root, ballot, proposed };
}

/** True if more than 2/3 of the seats prevoted the root (null = nil). */
export function isPolka(votes: Tally, attempt: Attempt, ballot: number, root: Digest | null): boolean {
  const voters = seatsOf(attempt).filter((seat) => countsFor(variants(votes, PREVOTE, ballot, seat), root));
  return isSupermajority(voters.length, attempt.committee.length);
}

/**
 * The certificates that the verified signatures of any ballot make. The signatures of the lowest seats suffice. Each decision is looked at
 * once: this is asked after every message, and liars can sign in all ballots.
 */
export function* precommitValues(state: CertifyState, attempt: Attempt): Generator<PrecommitValue> {
  const seats = attempt.committee.length;
  const decisions = Map.groupBy(state.signatures.values(), ({ root, ballot }) => `${root}.${ballot}`);
  for (const signed of decisions.values()) {
    const [{ root, ballot }] = signed as [Verified];
    const proposed = state.roots.get(root);
    const decision = decisionOf(state, attempt, root, ballot);
    if (proposed?.kind !== "good" || decision === null || !isSupermajority(signed.length, seats)) continue;
    const signatures = signed.toSorted((a, b) => a.seat - b.seat).map(({ seat, signature }) => ({ seat, signature }));
    const quorum = signatures.filter((_, index) => !isSupermajority(index, seats));
    yield { kind: "precommit-value", certificate: { decision, signatures: quorum }, proposed };
  }
}

/** The latest of the later ballots in which more than 1/3 of the seats said anything. */
export function* skips(state: CertifyState, attempt: Attempt): Generator<Threshold> {
  const reached: number[] = [];
  for (const [ballot, slots] of state.votes.rounds) {
    if (ballot <= state.ballot) continue;
    const speakers = new Set([...slots.values()].flat().map(({ header }) => header.seat));
    if (holdsHonest(speakers.size, attempt.committee.length)) reached.push(ballot);
  }
  if (reached.length > 0) yield { kind: "skip", ballot: Math.max(...reached) };
}

/** The prevotes that count for a root. */
export function prevotesFor(votes: Tally, attempt: Attempt, ballot: number, root: Digest): readonly Message[] {
  return seatsOf(attempt).flatMap((seat) => {
    const held = variants(votes, PREVOTE, ballot, seat);
    return countsFor(held, root) ? held : [];
  });
}

export function precommitsOf(votes: Tally, attempt: Attempt, ballot: number): readonly Message[] {
  return seatsOf(attempt).flatMap((seat) => variants(votes, PRECOMMIT, ballot, seat));
}

/** Number of seats that voted for the root in any ballot. */
export function supportersOf(votes: Tally, root: Digest): number {
  const supporters = new Set<SeatIndex>();
  for (const { header, payload } of messagesOf(votes)) {
    const isVote = header.phase === PREVOTE || header.phase === PRECOMMIT;
    if (isVote && decodeVote(header.phase, payload)?.root === root) supporters.add(header.seat);
  }
  return supporters.size;
}

function votersIn(votes: Tally, attempt: Attempt, phase: number, ballot: number): number {
  return seatsOf(attempt).filter((seat) => variants(votes, phase, ballot, seat).length > 0).length;
}

/**
 * CE8: a seat that voted twice is proven Byzantine and counts for everything. So all seats come to see the same quorums, whichever
 * of its votes they hold. Two quorums still share an honest seat.
 */
function countsFor(votes: readonly Message[], root: Digest | null): boolean {
  return votes.length > 1 || votes.some(({ header, payload }) => decodeVote(header.phase, payload)?.root === root);
}
