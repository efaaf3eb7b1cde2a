import { committeeHash } from "../core/encoding/typed-data.ts";
import { ConclaveError } from "../core/errors.ts";
import type { RequestRecord } from "../core/request/progress.ts";
import type { RequestId, SeatIndex } from "../core/types.ts";
import type { EquivocationProof } from "./chain.ts";

/** Most proofs that are kept; those of the oldest requests go first. */
export const maxKeptProofs = 1024;

/** A kept proof that cannot be read any more. */
export interface UnreadableProof {
  readonly path: string;
  /** The request in the proof's file name. */
  readonly requestId: RequestId;
}

export interface KeptEvidence {
  /** The oldest request first. */
  readonly proofs: readonly EquivocationProof[];
  readonly unreadable: readonly UnreadableProof[];
}

/** Proofs of equivocation that this agent found. Any process may read while one writes. */
export interface EvidenceStore {
  list(): Promise<KeptEvidence>;
  /** Keeps a proof durably. False if a proof of the same fault is kept already: a second one proves nothing more. */
  keep(proof: EquivocationProof): Promise<boolean>;
}

/** Digits of the largest request id in decimal (TR5). */
const ID_DIGITS = 39;

/** Names what the chain slashes once; names sort as the request ids do. */
export function faultOf({ agentId, request, slot }: EquivocationProof): string {
  return `${String(request.id).padStart(ID_DIGITS, "0")}-${slot.attempt}-${agentId}`;
}

/**
 * ST10: the seat that a proof is about, with the index of its round on record; null if the attempt has no decision there, or if it was
 * another committee that decided.
 */
export function heldSeat(
  { agentId, slot }: EquivocationProof,
  { rounds }: RequestRecord,
): { readonly index: number; readonly seat: SeatIndex } | null {
  const index = rounds.findIndex(
    ({ committee, decision }) => decision.attempt === slot.attempt && committeeHash(committee) === slot.committeeHash,
  );
  const seat = rounds[index]?.committee.findIndex((one) => one.agentId === agentId) ?? -1;
  return seat < 0 ? null : { index, seat: seat as SeatIndex };
}

/** The error of a proof without a seat on record. */
export function unprovable({ agentId, request, slot }: EquivocationProof): ConclaveError {
  const requestId = String(request.id);
  return new ConclaveError(
    "EVIDENCE_UNPROVABLE",
    `Prove what agent ${agentId} signed: the chain has no decision of its committee in attempt ${slot.attempt} of request ${requestId}; submit it again when there is one`,
    { requestId, attempt: slot.attempt, agentId },
  );
}
