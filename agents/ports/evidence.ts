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

/** What the chain slashes once. */
export function faultOf({ agentId, slot }: EquivocationProof): string {
  return `${slot.requestHash.slice(2)}-${slot.attempt}-${agentId}`;
}
