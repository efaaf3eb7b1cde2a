import { sha256 } from "../../agents/core/encoding/bytes.ts";
import type { Conclusion } from "../../agents/core/protocol.ts";
import { addMessage, emptyTally } from "../../agents/core/seat/tally.ts";
import type { Digest, Message } from "../../agents/core/types.ts";
import type { Plan } from "../plan.ts";

/** The messages that crossed a Byzantine seat's network, by their blocks, and the conclusions of sets of them. */
export interface KnownBlocks {
  note(frame: Uint8Array, message: Message): void;
  get(digest: Digest): Message | undefined;
  conclude(digests: readonly Digest[]): Conclusion;
}

export function createKnownBlocks(plan: Plan): KnownBlocks {
  const blocks = new Map<Digest, Message>();
  return {
    note: (frame, message) => void blocks.set(sha256(frame), message),
    get: (digest) => blocks.get(digest),
    conclude(digests) {
      let tally = emptyTally;
      for (const digest of digests) {
        const message = blocks.get(digest);
        if (message === undefined) return { kind: "open" };
        tally = addMessage(tally, message).tally;
      }
      return plan.protocol.conclude(plan.attempt, tally);
    },
  };
}
