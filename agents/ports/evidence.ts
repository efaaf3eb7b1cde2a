import type { EquivocationProof } from "./chain.ts";

/** Most proofs that are kept; the oldest requests' go first. */
export const maxKeptProofs = 1024;

/** Proofs of equivocation that this agent came by. Any process may read while one writes. */
export interface EvidenceStore {
  /** The oldest request first. */
  list(): Promise<readonly EquivocationProof[]>;
  /** Durable. False when one against this agent for this attempt is kept already: a second one proves nothing more. */
  keep(proof: EquivocationProof): Promise<boolean>;
}

/** Of the largest request id in decimal (TR5). */
const ID_DIGITS = 39;

/** What the chain slashes once; sorts as the request ids do. */
export function faultOf({ agentId, request, slot }: EquivocationProof): string {
  return `${String(request.id).padStart(ID_DIGITS, "0")}-${slot.attempt}-${agentId}`;
}
