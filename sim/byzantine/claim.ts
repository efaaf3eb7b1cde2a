import { digestOf } from "../../agents/core/encoding/codec.ts";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import type { PayloadMap } from "../../agents/core/protocol.ts";
import { EVENT, eventsPerSeat, stagesOf } from "../../agents/core/protocols/hashgraph/config.ts";
import { namesSources } from "../../agents/core/sources/named.ts";
import { decodeMessage, encodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Message } from "../../agents/core/types.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { Network } from "../../agents/ports/network.ts";
import type { Culprit } from "./culprit.ts";
import { resign } from "./payloads.ts";

/**
 * Hashgraph: replaces its events by claims that cost nothing: that it already has the order, or all its events at
 * once, with no parents of others. It certifies as before.
 */
export function claiming(claim: "last" | "line") {
  return ({ network, signer }: SessionPorts, { plan, seat, recorder }: Culprit): Network => {
    const line: Message[] = [];
    const lineOn = ({ header, payload }: Message): readonly Message[] => {
      while (line.length < (claim === "last" ? 1 : eventsPerSeat(plan.attempt))) {
        const last = line.at(-1);
        const claimed = {
          ...(payload as PayloadMap),
          closed: stagesOf(plan.attempt).length,
          mode: claim === "last" ? "last" : "gossip",
          selfParent: last === undefined ? null : hexToBytes(digestOf(last.payload)),
          // HG26: what was read stands in the first event alone.
          ...(last !== undefined && namesSources(plan.attempt) && { record: null }),
        };
        line.push(resign(plan, signer, { ...header, round: line.length }, claimed));
      }
      return line;
    };
    return {
      ...network,
      send(to, frame) {
        const message = decodeMessage(frame);
        if (message?.header.seat !== seat || message.header.phase !== EVENT) return network.send(to, frame);
        if (message.header.round > 0) return;
        for (const one of lineOn(message)) {
          recorder.count("free claim");
          network.send(to, encodeMessage(one));
        }
      },
    };
  };
}
