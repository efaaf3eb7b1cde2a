import { digestOf } from "../../agents/core/encoding/codec.ts";
import { PRECOMMIT } from "../../agents/core/seat/certify/messages.ts";
import { messageDigest } from "../../agents/core/encoding/typed-data.ts";
import { rejectMessage } from "../../agents/core/seat/seat.ts";
import type { Header, Message, Value } from "../../agents/core/types.ts";
import type { Signer } from "../../agents/ports/signer.ts";
import type { Plan } from "../plan.ts";
import type { Random } from "../random.ts";

const TRIES = 16;
const OPPOSITE: Readonly<Record<string, string>> = {
  accept: "reject",
  reject: "accept",
  uphold: "refute",
  refute: "uphold",
  same: "different",
  different: "same",
};

/** Signs a payload for a place, as only the owner of the key can. */
export function resign(plan: Plan, signer: Signer, header: Header, payload: Value): Message {
  const signed: Header = { ...header, payloadDigest: digestOf(payload) };
  return { header: signed, payload, signature: signer.sign(messageDigest(plan.attempt, signed)) };
}

export function isAcceptable(plan: Plan, header: Header, payload: Value): boolean {
  return rejectMessage(plan.protocol, plan.attempt, { header, payload, signature: "0x" }) === null;
}

/**
 * Returns another payload that is well formed for the same place under any protocol: with a leaf changed, an entry
 * left out, or the payload of another seat there. Null if none was found.
 */
export function another(plan: Plan, message: Message, others: readonly Message[], random: Random): Value | null {
  const copies = others.filter(
    ({ header }) =>
      header.phase === message.header.phase &&
      header.round === message.header.round &&
      header.phase !== PRECOMMIT &&
      header.payloadDigest !== message.header.payloadDigest,
  );
  for (let tries = 0; tries < TRIES; tries++) {
    const payload =
      copies.length > 0 && random.chance(300_000)
        ? random.pick(copies).payload
        : changed(message.payload, [plan.truth, ...plan.lies], random);
    if (isAcceptable(plan, message.header, payload) && digestOf(payload) !== message.header.payloadDigest)
      return payload;
  }
  return null;
}

function changed(value: Value, answers: readonly string[], random: Random): Value {
  if (value === null) return random.bytes(32);
  if (typeof value === "boolean") return !value;
  if (typeof value === "number") return random.pick([0, 1, value + 1, 300_000, 700_000, 900_000]);
  if (typeof value === "string") return changedText(value, answers, random);
  if (value instanceof Uint8Array) return changedBytes(value, random);
  if (Array.isArray(value)) {
    const list = value as readonly Value[];
    if (list.length === 0) return list;
    const at = random.below(list.length);
    if (random.chance(300_000)) return list.filter((_, index) => index !== at);
    return list.map((entry, index) => (index === at ? changed(entry, answers, random) : entry));
  }
  const keys = Object.keys(value);
  if (keys.length === 0) return value;
  const key = random.pick(keys);
  const map = value as { readonly [name: string]: Value };
  return { ...map, [key]: changed(map[key] as Value, answers, random) };
}

function changedText(text: string, answers: readonly string[], random: Random): string {
  const opposite = OPPOSITE[text];
  if (opposite !== undefined) return opposite;
  return answers.includes(text) ? random.pick(answers) : `${text.slice(0, -1)}~`;
}

function changedBytes(bytes: Uint8Array, random: Random): Value {
  if (bytes.length === 0 || random.chance(200_000)) return null;
  const copy = bytes.slice();
  const at = random.below(copy.length);
  copy[at] = (copy[at] as number) ^ (1 + random.below(255));
  return copy;
}
