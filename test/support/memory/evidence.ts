import type { EquivocationProof } from "../../../agents/ports/chain.ts";
import { faultOf, maxKeptProofs, type EvidenceStore } from "../../../agents/ports/evidence.ts";

export function createMemoryEvidence(): EvidenceStore {
  const kept = new Map<string, EquivocationProof>();
  const inOrder = (): readonly EquivocationProof[] =>
    [...kept.values()].toSorted(({ request: { id: left } }, { request: { id: right } }) =>
      left < right ? -1 : left > right ? 1 : 0,
    );
  return {
    list: async () => ({ proofs: inOrder(), unreadable: [] }),
    keep: async (proof) => {
      if (kept.has(faultOf(proof))) return false;
      if (kept.size >= maxKeptProofs) for (const oldest of inOrder().slice(0, 1)) kept.delete(faultOf(oldest));
      kept.set(faultOf(proof), proof);
      return true;
    },
  };
}
