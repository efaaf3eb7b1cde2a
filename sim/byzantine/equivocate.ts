import { decodeMessage, encodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Message } from "../../agents/core/types.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { Network } from "../../agents/ports/network.ts";
import type { Culprit } from "./culprit.ts";
import { another, resign } from "./payloads.ts";

const REMEMBERED = 256;

/**
 * Sends different payloads, both properly signed, to two groups of peers in some of its slots, certify phases
 * included.
 */
export function equivocating({ network, signer }: SessionPorts, { plan, seat, random, recorder }: Culprit): Network {
  const deceived = new Set(plan.attempt.committee.filter(() => random.chance(500_000)).map(({ signer: to }) => to));
  const ratePpm = random.pick([150_000, 500_000, 1_000_000]);
  const seen: Message[] = [];
  /** Payload that the deceived peers get; null = the same as the others. */
  const second = new Map<string, Uint8Array | null>();

  const variantOf = (frame: Uint8Array): Uint8Array | null => {
    const message = decodeMessage(frame);
    if (message === null || message.header.seat !== seat) return null;
    const key = message.header.payloadDigest;
    const known = second.get(key);
    if (known !== undefined) return known;
    const payload = random.chance(ratePpm) ? another(plan, message, seen, random) : null;
    const variant = payload === null ? null : encodeMessage(resign(plan, signer, message.header, payload));
    second.set(key, variant);
    return variant;
  };

  return {
    ...network,
    send(to, frame) {
      const variant = deceived.has(to) ? variantOf(frame) : null;
      if (variant !== null) recorder.count("equivocation");
      network.send(to, variant ?? frame);
    },
    onFrame: (listener) =>
      network.onFrame((from, frame) => {
        const message = decodeMessage(frame);
        if (message !== null && seen.length < REMEMBERED) seen.push(message);
        listener(from, frame);
      }),
  };
}
