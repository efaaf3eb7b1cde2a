import type { CertifyState, Verified } from "./state.ts";
import type { Effect } from "../../protocol.ts";
import type { DecisionConflict, SeatIndex } from "../../types.ts";

/** CE18: two decisions that one seat signed in one ballot. One pair per seat is kept, since another proves nothing more. */
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
    const { ballot, seat } = second;
    const slot = `${ballot}.${seat}`;
    const first = bySlot.get(slot);
    // A root yields one decision per ballot, and the map holds it once: another entry is another decision.
    if (first === undefined) bySlot.set(slot, second);
    else if (!found.has(seat)) found.set(seat, { seat, first, second });
  }
  return found;
}
