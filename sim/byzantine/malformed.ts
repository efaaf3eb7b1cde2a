import { encode } from "../../agents/core/encoding/codec.ts";
import { limits } from "../../agents/core/limits.ts";
import { decodeMessage, encodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Message, SeatIndex } from "../../agents/core/types.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { Network } from "../../agents/ports/network.ts";
import type { Culprit } from "./culprit.ts";
import { resign } from "./payloads.ts";

/** Sends, beside its own messages, what no honest seat sends: too long, cut, forged, out of range, or empty. */
export function malformed({ network, signer }: SessionPorts, { plan, seat, random, recorder }: Culprit): Network {
  const ratePpm = random.pick([100_000, 500_000, 1_000_000]);

  const junk = (frame: Uint8Array, message: Message): Uint8Array => {
    const { header, payload } = message;
    const next = ((seat + 1) % plan.attempt.committee.length) as SeatIndex;
    switch (random.below(9)) {
      case 0:
        return new Uint8Array(limits.messageBytes + 1 + random.below(900));
      case 1:
        return frame.slice(0, 1 + random.below(frame.length));
      case 2:
        return random.bytes(1 + random.below(200));
      case 3:
        return encode({ hello: [null, true, "x".repeat(random.below(300))] });
      case 4:
        return encodeMessage({ ...message, header: { ...header, seat: next } });
      case 5:
        return encodeMessage(resign(plan, signer, { ...header, seat: 255 as SeatIndex }, payload));
      case 6:
        return encodeMessage(resign(plan, signer, { ...header, phase: 200 + random.below(56) }, payload));
      case 7:
        return encodeMessage(resign(plan, signer, { ...header, round: 0xffff_ffff }, payload));
      default:
        return encodeMessage(resign(plan, signer, header, { payload, extra: random.bytes(random.below(64)) }));
    }
  };

  return {
    ...network,
    send(to, frame) {
      const message = random.chance(ratePpm) ? decodeMessage(frame) : null;
      if (message !== null) {
        recorder.count("malformed");
        network.send(to, junk(frame, message));
      }
      network.send(to, frame);
    },
  };
}
