import { bytesToHex, hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { isPayloadMap } from "../../agents/core/encoding/payload.ts";
import { CLOSE } from "../../agents/core/phases/round-book.ts";
import { decodeMessage, encodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Digest, Message, Value } from "../../agents/core/types.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { Network } from "../../agents/ports/network.ts";
import { phasesOf } from "../phases.ts";
import type { Culprit } from "./culprit.ts";
import { another, isAcceptable, resign } from "./payloads.ts";

const REMEMBERED = 256;

/**
 * Has three payloads for each of its slots of one phase. Seats keep two of a slot: some peers get the first and the second, the others the
 * second and the third. Later it names its own first and third where it would name others' messages of that phase, and tells all peers so
 * alike: half of them cannot know what it names.
 */
export function threefold({ network, signer }: SessionPorts, { plan, seat, random, recorder }: Culprit): Network {
  // Most often the second phase, which tells what was bound to in the first: votes name its messages.
  const [bound = 0, told = bound] = phasesOf(plan.protocol, plan.attempt);
  const forked = random.pick([bound, told, told, told]);
  const peers = random.shuffled(plan.attempt.committee.filter((_, index) => index !== seat));
  const some = new Set(peers.slice(0, random.between(1, Math.max(1, peers.length - 1))).map(({ signer: to }) => to));
  const isAccepting = random.chance(500_000);
  /** Says nothing more after its first such round. */
  const fallsSilent = random.chance(500_000);
  /** Others' messages of that phase. */
  const seen: Message[] = [];
  /** Its own three by round; fewer where it found no more. */
  const own = new Map<number, readonly Message[]>();
  /** What it says of others in place of what its runtime says. */
  const bent = new Map<Digest, Message>();

  const threeOf = (message: Message): readonly Message[] => {
    const three = new Map([[message.header.payloadDigest, message]]);
    for (let tries = 0; tries < 8 && three.size < 3; tries++) {
      const payload = another(plan, message, seen, random);
      const variant = payload === null ? message : resign(plan, signer, message.header, payload);
      three.set(variant.header.payloadDigest, variant);
    }
    return [...three.values()];
  };

  const misnaming = (message: Message): Message => {
    const [first, , third] = own.get(message.header.round) ?? [];
    if (first === undefined || third === undefined) return message;
    const left = [first, third].map(({ header }) => hexToBytes(header.payloadDigest));
    const others = new Set(seen.map(({ header }) => header.payloadDigest));
    const named = (value: Value): Value => {
      if (value instanceof Uint8Array) return (others.has(bytesToHex(value) as Digest) ? left.shift() : null) ?? value;
      if (Array.isArray(value)) return (value as readonly Value[]).map(named);
      if (!isPayloadMap(value)) return value;
      const entries = Object.entries(value).map(([key, one]) => [key, key === "seen" ? one : named(one)] as const);
      const isVote = isAccepting && value["verdict"] === "reject" && "counterProof" in value;
      return { ...Object.fromEntries(entries), ...(isVote && { verdict: "accept", counterProof: "" }) };
    };
    const payload = named(message.payload);
    if (left.length === 2 || !isAcceptable(plan, message.header, payload)) return message;
    recorder.count("misnamed");
    return resign(plan, signer, message.header, payload);
  };

  return {
    ...network,
    send(to, frame) {
      const message = decodeMessage(frame);
      if (message?.header.seat !== seat) return network.send(to, frame);
      const { phase, round, payloadDigest } = message.header;
      if (fallsSilent && (phase > CLOSE || (own.size > 0 && !own.has(round)))) return;
      if (phase < forked) return network.send(to, frame);
      if (phase === forked) {
        const three = own.get(round) ?? threeOf(message);
        own.set(round, three);
        if (three.length === 3) recorder.count("three payloads");
        for (const one of three.length < 3 ? [message] : three.slice(some.has(to) ? 0 : 1).slice(0, 2))
          network.send(to, encodeMessage(one));
        return;
      }
      const said = bent.get(payloadDigest) ?? misnaming(message);
      bent.set(payloadDigest, said).set(said.header.payloadDigest, said);
      network.send(to, encodeMessage(said));
    },
    onFrame: (listener) =>
      network.onFrame((from, frame) => {
        const message = decodeMessage(frame);
        if (message?.header.phase === forked && message.header.seat !== seat && seen.length < REMEMBERED)
          seen.push(message);
        listener(from, frame);
      }),
  };
}
