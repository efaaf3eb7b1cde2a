import { isReadable } from "../../answer.ts";
import { limits } from "../../limits.ts";
import { bytesToHex, hexToBytes, utf8 } from "../../digest.ts";
import { digestOf, isMapOf } from "../../codec.ts";
import type { Attempt, Digest, Ppm, SeatIndex, Value } from "../../types.ts";
import type { PayloadMap, Position } from "../../protocol.ts";
import { COMMIT, JUDGE, REVEAL, VOTE, isTier } from "./config.ts";

/** A seat's proposal (S_i, P_i, tau_i). */
export interface Proposal {
  readonly answer: string;
  readonly proof: string;
  readonly tier: Ppm;
}

export interface CommitPayload {
  /** null = the model failed: a typed abstention. */
  readonly commitment: Digest | null;
}

/** MB4: per seat the payload digest of the message of the phase before that the sender held; null = none, or two. */
export type Seen = readonly (Digest | null)[];

export interface RevealPayload {
  readonly proposal: (Proposal & { readonly salt: Uint8Array }) | null;
  readonly seen: Seen;
}

export interface VotePayload {
  readonly votes: readonly Vote[];
  readonly seen: Seen;
}

export interface JudgePayload {
  readonly judgements: readonly Judgement[];
  readonly seen: Seen;
}

export type Verdict = "accept" | "reject" | "abstain";

export interface Vote {
  /** Payload digest of the reveal voted on: binds answer and proof; the header binds the round (M25). */
  readonly target: Digest;
  readonly verdict: Verdict;
  readonly tier: Ppm;
  /** Empty unless rejecting. */
  readonly counterProof: string;
}

export interface Judgement {
  readonly author: SeatIndex;
  readonly target: Digest;
  readonly verdict: "uphold" | "refute" | "abstain";
}

/** MB4: the commitment binds request, attempt, round and seat, so that it cannot be copied by another seat. */
export function commitmentOf(
  attempt: Attempt,
  round: number,
  seat: SeatIndex,
  proposal: Proposal,
  salt: Uint8Array,
): Digest {
  return digestOf({
    requestId: Number(attempt.request.id),
    attempt: attempt.attempt,
    round,
    seat,
    answer: proposal.answer,
    proof: proposal.proof,
    tier: proposal.tier,
    salt,
  });
}

export function encodeCommit(payload: CommitPayload): PayloadMap {
  return { commitment: payload.commitment === null ? null : hexToBytes(payload.commitment) };
}

export function encodeReveal(payload: RevealPayload): PayloadMap {
  const seen = encodeSeen(payload.seen);
  if (payload.proposal === null) return { proposal: null, seen };
  const { answer, proof, tier, salt } = payload.proposal;
  return { proposal: { answer, proof, tier, salt }, seen };
}

export function encodeVotes({ votes, seen }: VotePayload): PayloadMap {
  return {
    votes: votes.map(({ target, verdict, tier, counterProof }) => ({
      target: hexToBytes(target),
      verdict,
      tier,
      counterProof,
    })),
    seen: encodeSeen(seen),
  };
}

export function encodeJudgements({ judgements, seen }: JudgePayload): PayloadMap {
  return {
    judgements: judgements.map(({ author, target, verdict }) => ({ author, target: hexToBytes(target), verdict })),
    seen: encodeSeen(seen),
  };
}

function encodeSeen(seen: Seen): Value {
  return seen.map((digest) => (digest === null ? null : hexToBytes(digest)));
}

export function acceptsPayload(attempt: Attempt, place: Position, payload: Value): boolean {
  switch (place.phase) {
    case COMMIT:
      return decodeCommit(payload) !== null;
    case REVEAL:
      return decodeReveal(attempt, payload) !== null;
    case VOTE:
      return decodeVotes(attempt, payload) !== null;
    case JUDGE:
      return decodeJudgements(attempt, payload) !== null;
    default:
      return false;
  }
}

export function decodeCommit(value: Value): CommitPayload | null {
  if (!isMapOf(value, ["commitment"])) return null;
  if (value["commitment"] === null) return { commitment: null };
  const commitment = asDigest(value["commitment"]);
  return commitment === null ? null : { commitment };
}

export function decodeReveal(attempt: Attempt, value: Value): RevealPayload | null {
  if (!isMapOf(value, ["proposal", "seen"])) return null;
  const seen = decodeSeen(attempt, value["seen"]);
  if (seen === null) return null;
  const proposal = value["proposal"];
  if (proposal === null) return { proposal: null, seen };
  if (!isMapOf(proposal, ["answer", "proof", "salt", "tier"])) return null;
  const { answer, proof, salt, tier } = proposal;
  if (!isText(answer, limits.answerBytes) || !isText(proof, limits.proofBytes) || !isTier(tier)) return null;
  if (!(salt instanceof Uint8Array) || salt.length !== 32) return null;
  return { proposal: { answer, proof, tier, salt }, seen };
}

function decodeSeen(attempt: Attempt, value: Value): Seen | null {
  if (!Array.isArray(value) || value.length !== attempt.committee.length) return null;
  const seen: (Digest | null)[] = [];
  for (const entry of value as readonly Value[]) {
    const digest = entry === null ? null : asDigest(entry);
    if (entry !== null && digest === null) return null;
    seen.push(digest);
  }
  return seen;
}

export function decodeVotes(attempt: Attempt, value: Value): VotePayload | null {
  if (!isMapOf(value, ["votes", "seen"])) return null;
  const list = value["votes"];
  const seen = decodeSeen(attempt, value["seen"]);
  if (seen === null || !Array.isArray(list) || list.length > limits.classesPerRound) return null;
  const votes: Vote[] = [];
  for (const entry of list as readonly Value[]) {
    if (!isMapOf(entry, ["counterProof", "target", "tier", "verdict"])) return null;
    const { counterProof, tier, verdict } = entry;
    const target = asDigest(entry["target"]);
    if (target === null || !isTier(tier) || !isText(counterProof, limits.counterProofBytes)) return null;
    if (verdict !== "accept" && verdict !== "reject" && verdict !== "abstain") return null;
    // MB5: a rejection without a counter-proof is an abstention, and is to be stated as one (M07).
    if ((verdict === "reject") !== (counterProof !== "")) return null;
    if (votes.some((other) => other.target === target)) return null;
    votes.push({ target, verdict, tier, counterProof });
  }
  return { votes, seen };
}

export function decodeJudgements(attempt: Attempt, value: Value): JudgePayload | null {
  if (!isMapOf(value, ["judgements", "seen"])) return null;
  const list = value["judgements"];
  const seen = decodeSeen(attempt, value["seen"]);
  if (seen === null || !Array.isArray(list) || list.length > limits.counterProofsPerRound) return null;
  const judgements: Judgement[] = [];
  for (const entry of list as readonly Value[]) {
    if (!isMapOf(entry, ["author", "target", "verdict"])) return null;
    const { author, verdict } = entry;
    const target = asDigest(entry["target"]);
    if (target === null || typeof author !== "number" || author < 0 || author >= attempt.committee.length) return null;
    if (verdict !== "uphold" && verdict !== "refute" && verdict !== "abstain") return null;
    if (judgements.some((other) => other.author === author && other.target === target)) return null;
    judgements.push({ author: author as SeatIndex, target, verdict });
  }
  return { judgements, seen };
}

function isText(value: Value | undefined, maxBytes: number): value is string {
  return typeof value === "string" && value.length <= maxBytes && isReadable(value) && utf8(value).length <= maxBytes;
}

function asDigest(value: Value | undefined): Digest | null {
  return value instanceof Uint8Array && value.length === 32 ? (bytesToHex(value) as Digest) : null;
}
