import { limits } from "../limits.ts";
import type { Evidence, Message, SeatIndex } from "../types.ts";

/** The messages of one round by slot (`slotKey`). A new object whenever a message of the round arrives, else the same object. */
export type RoundSlots = ReadonlyMap<number, readonly Message[]>;

/**
 * The signed messages a seat holds, by round and slot. Two payloads in a slot are proof of equivocation and make it
 * void. Messages differ by their digests, not by their signature bytes. `rejectMessage` bounds the slots.
 */
export interface Tally {
  readonly rounds: ReadonlyMap<number, RoundSlots>;
}

export const emptyTally: Tally = { rounds: new Map() };

const noSlots: RoundSlots = new Map();

export type Added =
  | { readonly kind: "added" | "duplicate" | "full"; readonly tally: Tally }
  | { readonly kind: "equivocation"; readonly tally: Tally; readonly evidence: Evidence };

function slotKey(phase: number, seat: SeatIndex): number {
  return phase * limits.maxCommittee + seat;
}

export function roundSlots(tally: Tally, round: number): RoundSlots {
  return tally.rounds.get(round) ?? noSlots;
}

export function addMessage(tally: Tally, message: Message): Added {
  const { phase, round, seat } = message.header;
  const slots = roundSlots(tally, round);
  const key = slotKey(phase, seat);
  const held = slots.get(key) ?? [];
  if (held.some((other) => other.header.payloadDigest === message.header.payloadDigest))
    return { kind: "duplicate", tally };
  const first = held[0];
  if (held.length >= limits.payloadsPerSlot) return { kind: "full", tally };
  const next: Tally = {
    rounds: new Map(tally.rounds).set(round, new Map(slots).set(key, [...held, message])),
  };
  return first === undefined
    ? { kind: "added", tally: next }
    : { kind: "equivocation", tally: next, evidence: { first, second: message } };
}

/** What a seat said in a slot: one message, null for nothing, or "void" for an equivocation. */
export function spokenIn(slots: RoundSlots, phase: number, seat: SeatIndex): Message | "void" | null {
  const held = slots.get(slotKey(phase, seat));
  if (held === undefined || held[0] === undefined) return null;
  return held.length > 1 ? "void" : held[0];
}

/** All messages of a seat in a slot, in order of arrival. */
export function variantsIn(slots: RoundSlots, phase: number, seat: SeatIndex): readonly Message[] {
  return slots.get(slotKey(phase, seat)) ?? [];
}

export function variants(tally: Tally, phase: number, round: number, seat: SeatIndex): readonly Message[] {
  return variantsIn(roundSlots(tally, round), phase, seat);
}

/** Number of seats that filled their slot, void ones included. */
export function filledIn(slots: RoundSlots, phase: number, seats: number): number {
  let count = 0;
  for (let seat = 0; seat < seats; seat++) if (slots.has(slotKey(phase, seat as SeatIndex))) count++;
  return count;
}

/** All messages, in no particular order. */
export function* messagesOf(tally: Tally): Generator<Message> {
  for (const slots of tally.rounds.values()) for (const held of slots.values()) yield* held;
}

/** Messages of `held` that `other` lacks, except in slots that `other` shows as void. */
export function missingFrom(other: Tally, held: Tally): readonly Message[] {
  const missing: Message[] = [];
  for (const [round, slots] of held.rounds) {
    const theirSlots = roundSlots(other, round);
    if (theirSlots === slots) continue;
    for (const [key, messages] of slots) {
      const theirs = theirSlots.get(key) ?? [];
      if (theirs.length > 1) continue;
      for (const message of messages) {
        if (!theirs.some((one) => one.header.payloadDigest === message.header.payloadDigest)) missing.push(message);
      }
    }
  }
  return missing;
}
