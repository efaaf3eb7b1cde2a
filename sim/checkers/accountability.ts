import { PROPOSE } from "../../agents/core/seat/certify/messages.ts";
import type { Digest } from "../../agents/core/types.ts";
import { honestSeats, slotOf, type SeatTrace, type Trace } from "../trace.ts";
import { firstCertificate, transcribed } from "./transcript.ts";

/**
 * SI5: a seat that received both halves of an equivocation holds evidence of it. If two certified honest seats
 * received different halves in a slot that the certified transcript covers, one of them holds evidence, too. A seat
 * with two messages for one slot in a certified transcript is slashed by its decision (PH8, HG21).
 */
export function checkAccountability(trace: Trace): readonly string[] {
  const honest = honestSeats(trace);
  const held = new Map(honest.map((one) => [one.seat, new Set(one.evidence.map(({ first }) => slotOf(first)))]));
  const own = honest.flatMap(({ seat, took }) =>
    [...took].flatMap(([slot, messages]) =>
      distinct(messages) < 2 || held.get(seat)?.has(slot) === true
        ? []
        : [`seat ${seat} took in two payloads of slot ${slot} and raised no evidence`],
    ),
  );
  return [...own, ...unseen(trace, honest, held), ...spared(trace)];
}

function unseen(
  trace: Trace,
  honest: readonly SeatTrace[],
  held: ReadonlyMap<number, ReadonlySet<string>>,
): readonly string[] {
  const transcript = slotsOf(trace);
  if (transcript === null || !honest.every(({ certificates }) => certificates.length > 0)) return [];
  const slots = new Set(honest.flatMap(({ took }) => [...took.keys()]));
  return [...slots].flatMap((slot) => {
    if (Number(slot.split(".")[0]) >= PROPOSE || !transcript.has(slot)) return [];
    const union = distinct(honest.flatMap(({ took }) => took.get(slot) ?? []));
    const proven = honest.some(({ seat }) => held.get(seat)?.has(slot) === true);
    return union < 2 || proven ? [] : [`honest seats took in two payloads of slot ${slot} and none raised evidence`];
  });
}

function spared(trace: Trace): readonly string[] {
  const decision = firstCertificate(trace)?.decision;
  const slashed = (decision?.reputationChanges ?? []).filter(({ steps }) => steps < 0).map(({ seat }) => seat);
  const twice = [...(slotsOf(trace) ?? [])].filter(([, count]) => count > 1);
  const seats = new Set(twice.map(([slot]) => Number(slot.split(".")[2])));
  return [...seats]
    .filter((seat) => !slashed.some((one) => one === seat))
    .map((seat) => `seat ${seat} stands in the transcript with two messages for one slot and is not slashed`);
}

/** Slots with a message in the certified transcript, and the number of messages in each. */
function slotsOf(trace: Trace): ReadonlyMap<string, number> | null {
  const messages = transcribed(trace);
  if (messages === null) return null;
  const slots = new Map<string, number>();
  for (const slot of messages.map(slotOf)) slots.set(slot, (slots.get(slot) ?? 0) + 1);
  return slots;
}

function distinct(messages: readonly { readonly header: { readonly payloadDigest: Digest } }[]): number {
  return new Set(messages.map(({ header }) => header.payloadDigest)).size;
}
