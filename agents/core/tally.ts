import { limits } from "./limits.ts";
import type { Evidence, Message, SeatIndex } from "./types.ts";

/**
 * The signed messages a seat holds, by slot (phase, round, seat). Two payloads in a slot are proof of equivocation and
 * make it void. Signature bytes do not distinguish messages, digests do. What may stand in a slot is bounded by
 * `acceptsMessage`, so the slots are, too.
 */
export interface Tally {
  readonly slots: ReadonlyMap<string, readonly Message[]>;
}

export const emptyTally: Tally = { slots: new Map() };

export type Added =
  | { readonly kind: "added" | "duplicate" | "full"; readonly tally: Tally }
  | { readonly kind: "equivocation"; readonly tally: Tally; readonly evidence: Evidence };

function slotKey(phase: number, round: number, seat: SeatIndex): string {
  return `${phase}.${round}.${seat}`;
}

export function addMessage(tally: Tally, message: Message): Added {
  const { phase, round, seat } = message.header;
  const key = slotKey(phase, round, seat);
  const held = tally.slots.get(key) ?? [];
  if (held.some((other) => other.header.payloadDigest === message.header.payloadDigest))
    return { kind: "duplicate", tally };
  const first = held[0];
  if (held.length >= limits.payloadsPerSlot) return { kind: "full", tally };
  const next: Tally = { slots: new Map(tally.slots).set(key, [...held, message]) };
  return first === undefined
    ? { kind: "added", tally: next }
    : { kind: "equivocation", tally: next, evidence: { first, second: message } };
}

/** What a seat said in a slot: one message, nothing, or "void" for an equivocation. */
export function spoken(tally: Tally, phase: number, round: number, seat: SeatIndex): Message | "void" | null {
  const held = tally.slots.get(slotKey(phase, round, seat));
  if (held === undefined || held[0] === undefined) return null;
  return held.length > 1 ? "void" : held[0];
}

/** All a seat said in a slot, in order of arrival. */
export function variants(tally: Tally, phase: number, round: number, seat: SeatIndex): readonly Message[] {
  return tally.slots.get(slotKey(phase, round, seat)) ?? [];
}

/** Number of seats that filled their slot, void ones included. */
export function filled(tally: Tally, phase: number, round: number, seats: number): number {
  let count = 0;
  for (let seat = 0; seat < seats; seat++) if (tally.slots.has(slotKey(phase, round, seat as SeatIndex))) count++;
  return count;
}

/** All messages, in no particular order. */
export function* messagesOf(tally: Tally): Generator<Message> {
  for (const held of tally.slots.values()) yield* held;
}

/** Messages of `held` whose slot content `other` does not cover; a slot that `other` shows as void is covered. */
export function missingFrom(other: Tally, held: Tally): readonly Message[] {
  const missing: Message[] = [];
  for (const [key, messages] of held.slots) {
    const theirs = other.slots.get(key) ?? [];
    if (theirs.length > 1) continue;
    for (const message of messages) {
      if (!theirs.some((one) => one.header.payloadDigest === message.header.payloadDigest)) missing.push(message);
    }
  }
  return missing;
}
