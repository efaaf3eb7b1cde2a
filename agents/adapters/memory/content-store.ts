import type { Digest } from "../../core/types.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { blockMissing, digestOfBlock, verifiedBlock } from "../ipfs/block.ts";
import { walkDag } from "../ipfs/walk.ts";

/** Stores of one world: each fetches from the others what it does not hold. */
export interface MemoryContentHub {
  readonly stores: Set<ReadonlyMap<Digest, Uint8Array>>;
  /** Called after every block that one of them stores. */
  readonly waiting: Set<() => void>;
}

export function createMemoryContentHub(): MemoryContentHub {
  return { stores: new Set(), waiting: new Set() };
}

export interface MemoryContentStoreOptions {
  readonly clock: Clock;
  /** A world of its own when missing. */
  readonly hub?: MemoryContentHub;
  readonly getTimeoutMs?: number;
  /** The blocks to start with and to write to: pass the same map again to reopen a store. */
  readonly blocks?: Map<Digest, Uint8Array>;
  readonly pins?: Set<Digest>;
}

export function createMemoryContentStore(options: MemoryContentStoreOptions): ContentStore {
  const { clock, hub = createMemoryContentHub(), getTimeoutMs = 30_000 } = options;
  const { blocks = new Map<Digest, Uint8Array>(), pins = new Set<Digest>() } = options;
  const closing = new AbortController();
  hub.stores.add(blocks);

  function find(digest: Digest): Uint8Array | null {
    const own = blocks.get(digest);
    if (own !== undefined) return verifiedBlock(digest, own).slice();
    for (const other of hub.stores) {
      const bytes = other.get(digest);
      if (bytes === undefined) continue;
      blocks.set(digest, verifiedBlock(digest, bytes).slice());
      return bytes.slice();
    }
    return null;
  }

  async function get(digest: Digest, signal?: AbortSignal): Promise<Uint8Array> {
    const ended = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal]);
    const found = ended.aborted ? null : find(digest);
    if (found !== null) return found;
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        cancel();
        hub.waiting.delete(look);
        ended.removeEventListener("abort", giveUp);
      };
      const giveUp = (): void => {
        settle();
        reject(blockMissing(digest, getTimeoutMs, ended.reason));
      };
      const look = (): void => {
        try {
          const bytes = find(digest);
          if (bytes === null) return;
          resolve(bytes);
        } catch (error) {
          reject(error);
        }
        settle();
      };
      const cancel = clock.schedule(getTimeoutMs, giveUp);
      hub.waiting.add(look);
      ended.addEventListener("abort", giveUp, { once: true });
      if (ended.aborted) giveUp();
    });
  }

  return {
    async put(bytes) {
      const digest = digestOfBlock(bytes);
      blocks.set(digest, bytes.slice());
      for (const look of hub.waiting) look();
      return digest;
    },
    get,
    async has(digest) {
      return blocks.has(digest);
    },
    async pin(root, signal) {
      for await (const _ of walkDag(root, (digest) => get(digest, signal))) continue;
      pins.add(root);
    },
    async isPinned(root) {
      return pins.has(root);
    },
    async close() {
      closing.abort(new Error("content store closed"));
      hub.stores.delete(blocks);
    },
  };
}
