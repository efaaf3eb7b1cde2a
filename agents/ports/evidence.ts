import type { RequestId } from "../core/types.ts";
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
