import { recoverSigner } from "../../core/encoding/digest.ts";
import {
  committeeHash,
  decisionDigest,
  hashedDecision,
  hashedRequest,
  requestHashOf,
} from "../../core/encoding/typed-data.ts";
import type { Attempt, DecisionConflict, Evidence, Message, SeatIndex, SignedDecision } from "../../core/types.ts";
import type { CommittedDecision } from "../../core/request/events.ts";
import type {
  DecisionProof,
  MessageProof,
  SignedDecisionHash,
  SignedPayload,
  TransactionReader,
} from "../../ports/chain.ts";
import type { SignedBySeat } from "../seat/session.ts";

/** Builds the proof from two messages; null if the seat does not exist, which no verified message names. */
export function messageProof(attempt: Attempt, { first, second }: Evidence): MessageProof | null {
  const { protocol, phase, round, seat } = first.header;
  const accused = accusationOf(attempt, seat);
  if (accused === null) return null;
  const { request, agentId, place } = accused;
  const slot = { ...place, protocol, phase, round, seat };
  return { kind: "messages", request, agentId, slot, first: signedPayload(first), second: signedPayload(second) };
}

/** Builds the proof from two decisions; null if the seat does not exist. */
export function decisionProof(attempt: Attempt, { seat, first, second }: DecisionConflict): DecisionProof | null {
  const accused = accusationOf(attempt, seat);
  if (accused === null) return null;
  const { request, agentId, place } = accused;
  const slot = { ...place, round: first.decision.round };
  return { kind: "decisions", request, agentId, slot, first: signedHash(first), second: signedHash(second) };
}

/**
 * CE18: finds the seats that signed the decision on chain and, in the same ballot, another decision that this seat
 * holds. It reads the transaction only if there is such a seat.
 */
export async function conflictsOnChain(
  attempt: Attempt,
  held: readonly SignedBySeat[],
  { transactionHash, requestId, decision, relay }: CommittedDecision,
  transactions: Pick<TransactionReader, "certificate">,
  signal: AbortSignal,
): Promise<readonly DecisionConflict[]> {
  const digest = decisionDigest(attempt, decision);
  const others = held.filter(
    (one) => isSigner(relay.signers, one.seat) && decisionDigest(attempt, one.decision) !== digest,
  );
  if (others.length === 0) return [];
  const signatures = (await transactions.certificate(transactionHash, requestId, signal)) ?? [];
  return signatures.flatMap(({ seat, signature }) => {
    const first = others.find((one) => one.seat === seat);
    // The chain has verified the signature, but the node that reports it may be wrong.
    const isTheirs = recoverSigner(digest, signature) === attempt.committee[seat]?.signer;
    return first === undefined || !isTheirs ? [] : [{ seat, first, second: { decision, signature } }];
  });
}

function isSigner(signers: bigint, seat: SeatIndex): boolean {
  return ((signers >> BigInt(seat)) & 1n) === 1n;
}

function accusationOf(attempt: Attempt, seat: SeatIndex) {
  const agentId = attempt.committee[seat]?.agentId;
  if (agentId === undefined) return null;
  const request = hashedRequest(attempt.request);
  const hashes = { requestHash: requestHashOf(request), committeeHash: committeeHash(attempt.committee) };
  return { request, agentId, place: { ...hashes, attempt: attempt.attempt } };
}

function signedPayload({ header, signature }: Message): SignedPayload {
  return { payloadDigest: header.payloadDigest, signature };
}

function signedHash({ decision, signature }: SignedDecision): SignedDecisionHash {
  return { decision: hashedDecision(decision), signature };
}
