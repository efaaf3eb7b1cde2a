import PQueue from "p-queue";
import { limits } from "../../core/limits.ts";
import { messageBlock, forgeryIn } from "../../core/encoding/transcript.ts";
import type { MessageBlock } from "../../core/protocol.ts";
import type { Attempt, Digest, Message } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";

type Blocks = readonly (MessageBlock | null)[];

/** Fetches the message blocks behind proposals. */
export interface Loader {
  /**
   * Returns the blocks in the order of their digests; null for one that nobody delivers, and all null if one is
   * foreign.
   */
  load(digests: readonly Digest[]): Promise<Blocks>;
}

/** Blocks that one load fetches at the same time. */
const BLOCKS_PER_LOAD = 16;
/** Loads per seat that wait for others to end. */
const WAITING_PER_SEAT = 2;

/**
 * A proposer chooses the digests, so a block is kept only if it is a signed message of this attempt; one foreign block
 * makes the proposal invalid and ends the load. As many loads as seats run side by side, so that an honest seat's load
 * does not wait for others. `timeLimit` bounds each load from its start.
 */
export function createLoader(
  attempt: Attempt,
  accepts: (message: Message) => boolean,
  store: ContentStore,
  timeLimit: () => { readonly signal: AbortSignal; readonly cancel: () => void },
): Loader {
  const seats = attempt.committee.length;
  const loads = new PQueue({ concurrency: seats });

  const fetchAll = async (digests: readonly Digest[]): Promise<Blocks> => {
    const { signal, cancel } = timeLimit();
    const foreign = new AbortController();
    const ended = AbortSignal.any([signal, foreign.signal]);
    const inSlot = new Map<string, number>();
    const isOurs = (message: Message): boolean => {
      if (!accepts(message)) return false;
      const { phase, round, seat } = message.header;
      const count = (inSlot.get(`${phase}.${round}.${seat}`) ?? 0) + 1;
      inSlot.set(`${phase}.${round}.${seat}`, count);
      return count <= limits.payloadsPerSlot && forgeryIn(attempt, message) === null;
    };
    const fetchOne = async (digest: Digest): Promise<MessageBlock | null> => {
      if (ended.aborted) return null;
      const bytes = await store.get(digest, ended).catch(() => null);
      if (bytes === null || ended.aborted) return null;
      // The message is decoded here, once: the seat gets it with its block.
      const block = bytes.length > limits.messageBytes ? null : messageBlock(bytes);
      if (block !== null && block.message !== null && isOurs(block.message)) return block;
      foreign.abort();
      return null;
    };
    const blocks = new PQueue({ concurrency: BLOCKS_PER_LOAD });
    const fetched = await Promise.all(digests.map((digest) => blocks.add(() => fetchOne(digest))));
    cancel();
    return foreign.signal.aborted ? nothing(digests) : fetched;
  };

  return {
    load: async (digests) =>
      loads.size >= WAITING_PER_SEAT * seats ? nothing(digests) : loads.add(() => fetchAll(digests)),
  };
}

function nothing(digests: readonly Digest[]): Blocks {
  return digests.map(() => null);
}
