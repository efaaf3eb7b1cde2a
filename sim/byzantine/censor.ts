import { PROPOSE, decodePropose } from "../../agents/core/seat/certify/messages.ts";
import { decodeBlock, encodeBlock } from "../../agents/core/encoding/codec.ts";
import type { BlockValue } from "../../agents/core/encoding/block-value.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { limits } from "../../agents/core/limits.ts";
import { decodeMessage, encodeMessage, readRoot } from "../../agents/core/encoding/transcript.ts";
import type { Digest, Message, SeatIndex } from "../../agents/core/types.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { Network } from "../../agents/ports/network.ts";
import type { Culprit } from "./culprit.ts";
import { createKnownBlocks } from "./known.ts";
import { resign } from "./payloads.ts";

/**
 * Leaves messages out of its proposals as long as the rest is still conclusive, or doctors the root in another way.
 * It never hands anything on.
 */
export function censoring({ network, signer, store }: SessionPorts, culprit: Culprit): Network {
  const { plan, seat, random, recorder } = culprit;
  const { protocol, attempt } = plan;
  const known = createKnownBlocks(plan);
  const proposals = new Map<Digest, Uint8Array>();

  const censored = (message: Message): Uint8Array | null => {
    const payload = decodePropose(message.payload, message.header.round);
    const read = payload?.validBallot === null ? readRoot(attempt, protocol, payload.rootBlock) : null;
    if (payload === null || read === null || "refused" in read) return null;
    if (random.chance(300_000)) return doctored(message, payload.rootBlock, read.messages);
    const order = random.shuffled(attempt.committee.map((_, index) => index as SeatIndex));
    for (const victim of order) {
      const kept = read.messages.filter((digest) => known.get(digest)?.header.seat !== victim);
      if (kept.length === read.messages.length || known.conclude(kept).kind === "open") continue;
      return propose(message, payload.rootBlock, { messages: kept.map((link) => ({ link })) });
    }
    return null;
  };

  const propose = (message: Message, rootBlock: Uint8Array, change: { readonly [key: string]: BlockValue }) => {
    const root = decodeBlock(rootBlock, limits.rootBytes) as { readonly [key: string]: BlockValue };
    const bytes = encodeBlock({ ...root, ...change });
    return encodeMessage(resign(plan, signer, message.header, { root: bytes, validRound: null }));
  };

  /**
   * Returns a doctored root: of another version or question, out of order, or with a message of its own that belongs
   * elsewhere.
   */
  const doctored = (message: Message, rootBlock: Uint8Array, digests: readonly Digest[]): Uint8Array => {
    const root = decodeBlock(rootBlock, limits.rootBytes) as { readonly [key: string]: BlockValue };
    const described = root["attempt"] as { readonly [key: string]: BlockValue };
    const links = digests.map((link) => ({ link }));
    recorder.count("doctored");
    switch (random.below(4)) {
      case 0:
        return propose(message, rootBlock, { protocolVersion: protocol.version + 1 });
      case 1:
        return propose(message, rootBlock, { attempt: { ...described, question: "What else?" } });
      case 2:
        return propose(message, rootBlock, { messages: links.toReversed() });
      default:
        return propose(message, rootBlock, { messages: [...links.slice(0, -1), { link: foreign(digests) }] });
    }
  };

  /** Repeats the last message as if its author had sent it in another attempt; this seat signs it. */
  const foreign = (digests: readonly Digest[]): Digest => {
    const last = known.get(digests.at(-1) as Digest);
    if (last === undefined) return digests[0] as Digest;
    const bytes = encodeMessage(resign(plan, signer, { ...last.header, attempt: attempt.attempt + 1 }, last.payload));
    // It serves the block that it proposes.
    store.put(bytes).catch(() => undefined);
    return sha256(bytes);
  };

  return {
    ...network,
    send(to, frame) {
      const message = decodeMessage(frame);
      if (message === null) return;
      known.note(frame, message);
      if (message.header.seat !== seat) {
        recorder.count("not relayed");
        return;
      }
      if (message.header.phase !== PROPOSE) return network.send(to, frame);
      const proposal = proposals.get(message.header.payloadDigest) ?? censored(message) ?? frame;
      proposals.set(message.header.payloadDigest, proposal);
      if (proposal !== frame) recorder.count("censored");
      network.send(to, proposal);
    },
    onFrame: (listener) =>
      network.onFrame((from, frame) => {
        const message = decodeMessage(frame);
        if (message !== null) known.note(frame, message);
        listener(from, frame);
      }),
  };
}
