import type { EquivocationProof } from "../../ports/chain.ts";
import { faultOf, maxKeptProofs, type EvidenceStore } from "../../ports/evidence.ts";

export function createMemoryEvidence(): EvidenceStore {
  const kept = new Map<string, EquivocationProof>();
  const inOrder = (): readonly EquivocationProof[] =>
    [...kept.values()].toSorted((left, right) =>
      left.requestId < right.requestId ? -1 : left.requestId > right.requestId ? 1 : 0,
    );
  return {
    list: async () => inOrder(),
    keep: async (proof) => {
      if (kept.has(faultOf(proof))) return false;
      if (kept.size >= maxKeptProofs) for (const oldest of inOrder().slice(0, 1)) kept.delete(faultOf(oldest));
      kept.set(faultOf(proof), proof);
      return true;
    },
  };
}
