import { decodeMessage, encodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Header } from "../../agents/core/types.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { Network } from "../../agents/ports/network.ts";
import type { Culprit } from "./culprit.ts";
import { isAcceptable, resign } from "./payloads.ts";

const REMEMBERED = 512;

/** Repeats old messages of any author, and its own messages in other attempts, requests, rounds and phases. */
export function replaying({ network, signer }: SessionPorts, { plan, seat, random, recorder }: Culprit): Network {
  const { committee } = plan.attempt;
  const heard: Uint8Array[] = [];
  const keep = (frame: Uint8Array): void => {
    if (heard.length < REMEMBERED) heard.push(frame);
    else heard[random.below(REMEMBERED)] = frame;
  };

  const elsewhere = (header: Header): Header =>
    random.pick([
      { ...header, attempt: header.attempt + 1 },
      { ...header, requestId: (header.requestId + 1n) as Header["requestId"] },
      { ...header, protocol: header.protocol + 1 },
      { ...header, round: header.round + 1 },
      { ...header, phase: Math.max(1, header.phase - 1) },
    ]);

  const repeat = (): void => {
    const old = random.pick(heard);
    const to = random.pick(committee).signer;
    recorder.count("replay");
    network.send(to, old);
    const message = random.chance(300_000) ? decodeMessage(old) : null;
    if (message === null || message.header.seat !== seat) return;
    const header = elsewhere(message.header);
    // A message out of place in this attempt would be an equivocation or a guess: only one that is well formed there
    // is worth a try.
    if (header.attempt === message.header.attempt && !isAcceptable(plan, header, message.payload)) return;
    recorder.count("replay elsewhere");
    network.send(to, encodeMessage(resign(plan, signer, header, message.payload)));
  };

  return {
    ...network,
    send(to, frame) {
      keep(frame);
      network.send(to, frame);
      if (random.chance(200_000)) repeat();
    },
    onFrame: (listener) =>
      network.onFrame((from, frame) => {
        keep(frame);
        listener(from, frame);
        if (random.chance(100_000)) repeat();
      }),
  };
}
