import type { RequestId } from "../core/types.ts";
import type { EquivocationProof } from "./chain.ts";

/** Most proofs that are kept; the oldest requests' go first. */
export const maxKeptProofs = 1024;

/** A proof that was kept and cannot be read any more. */
export interface UnreadableProof {
  readonly path: string;
  /** By the name it was kept under. */
  readonly requestId: RequestId;
}

export interface KeptEvidence {
  /** The oldest request first. */
  readonly proofs: readonly EquivocationProof[];
  readonly unreadable: readonly UnreadableProof[];
}

/** Proofs of equivocation that this agent came by. Any process may read while one writes. */
export interface EvidenceStore {
  list(): Promise<KeptEvidence>;
  /** Durable. False when one against this agent for this attempt is kept already: a second one proves nothing more. */
  keep(proof: EquivocationProof): Promise<boolean>;
}

/** Of the largest request id in decimal (TR5). */
const ID_DIGITS = 39;

/** What the chain slashes once; sorts as the request ids do. */
export function faultOf({ agentId, request, slot }: EquivocationProof): string {
  return `${String(request.id).padStart(ID_DIGITS, "0")}-${slot.attempt}-${agentId}`;
}
