import type { CertifyState, Verified } from "./state.ts";
import type { Effect } from "../../protocol.ts";
import type { DecisionConflict, SeatIndex } from "../../types.ts";

/** CE18: two decisions that one seat signed in one certify round; one pair of each seat, since another proves nothing more. */
export function newConflicts(before: CertifyState, after: CertifyState): readonly Effect[] {
  if (after.signatures === before.signatures) return [];
  const known = conflictsIn(before);
  return [...conflictsIn(after)].flatMap(([seat, conflict]) =>
    known.has(seat) ? [] : [{ kind: "conflict", conflict }],
  );
}

function conflictsIn({ signatures }: CertifyState): ReadonlyMap<SeatIndex, DecisionConflict> {
  const bySlot = new Map<string, Verified>();
  const found = new Map<SeatIndex, DecisionConflict>();
  for (const second of signatures.values()) {
    const { round, seat } = second;
    const slot = `${round}.${seat}`;
    const first = bySlot.get(slot);
    // Of one root there is one decision, and it is held once.
    if (first === undefined) bySlot.set(slot, second);
    else if (!found.has(seat)) found.set(seat, { seat, first, second });
  }
  return found;
}
