import type { Digest } from "../../../agents/core/types.ts";
import type { Clock } from "../../../agents/ports/clock.ts";
import type { CollectedStore, Pin, PinOwner, Sweep, Swept } from "../../../agents/ports/content-store.ts";
import { blockMissing, decodeLinks, digestOfBlock, verifiedBlock } from "../../../agents/adapters/ipfs/block.ts";
import { walkDag } from "../../../agents/adapters/ipfs/walk.ts";

/** Stores of one world: each fetches blocks that it does not hold from the others. */
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
  /** The world of the store; by default one of its own. */
  readonly hub?: MemoryContentHub;
  readonly getTimeoutMs?: number;
  /** The blocks to start with and to write to: pass the same map again to reopen a store. */
  readonly blocks?: Map<Digest, Uint8Array>;
  readonly pins?: MemoryPins;
  readonly owner?: PinOwner;
}

/** Times at which each owner pinned its roots. */
export type MemoryPins = Readonly<Record<PinOwner, Map<Digest, number>>>;

export function createMemoryPins(): MemoryPins {
  return { seat: new Map(), operator: new Map() };
}

export function createMemoryContentStore(options: MemoryContentStoreOptions): CollectedStore {
  const { clock, hub = createMemoryContentHub(), getTimeoutMs = 30_000 } = options;
  const { blocks = new Map<Digest, Uint8Array>(), pins = createMemoryPins(), owner = "seat" } = options;
  const openedMs = clock.now();
  const storedMs = new Map<Digest, number>();
  const closing = new AbortController();
  hub.stores.add(blocks);

  function find(digest: Digest): Uint8Array | null {
    const own = blocks.get(digest);
    if (own !== undefined) return verifiedBlock(digest, own).slice();
    for (const other of hub.stores) {
      const bytes = other.get(digest);
      if (bytes === undefined) continue;
      blocks.set(digest, verifiedBlock(digest, bytes).slice());
      storedMs.set(digest, clock.now());
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
      storedMs.set(digest, clock.now());
      for (const look of hub.waiting) look();
      return digest;
    },
    get,
    async has(digest) {
      return blocks.has(digest);
    },
    ...pinning({ blocks, pins, owner, clock, get, storedSince: (digest) => storedMs.get(digest) ?? openedMs }),
    async close() {
      closing.abort(new Error("content store closed"));
      hub.stores.delete(blocks);
    },
  };
}

interface Stored extends Pick<CollectedStore, "get"> {
  readonly blocks: Map<Digest, Uint8Array>;
  readonly pins: MemoryPins;
  readonly owner: PinOwner;
  readonly clock: Clock;
  readonly storedSince: (digest: Digest) => number;
}

function pinning(stored: Stored): Omit<CollectedStore, "put" | "get" | "has" | "close"> {
  const { blocks, pins, owner, clock, get } = stored;
  const own = pins[owner];
  return {
    async pin(root, signal) {
      for await (const _ of walkDag(root, (digest) => get(digest, signal))) continue;
      below(root, blocks);
      own.set(root, clock.now());
    },
    isPinned: async (root) => pins.seat.has(root) || pins.operator.has(root),
    unpin: async (root) => own.delete(root),
    pins: async () => [...own].map(([root, sinceMs]): Pin => ({ root, sinceMs })),
    wouldSweep: async (sweep, without) => sum(free(stored, sweep, without)),
    async sweep(sweep) {
      const found = free(stored, sweep, new Set());
      for (const { digest } of found.taken) blocks.delete(digest);
      return sum(found);
    },
  };
}

/** All blocks of a DAG that is stored here. Throws BLOCK_MISSING if one is not. */
function below(root: Digest, blocks: ReadonlyMap<Digest, Uint8Array>): ReadonlySet<Digest> {
  const found = new Set<Digest>([root]);
  for (const digest of found) {
    const bytes = blocks.get(digest);
    if (bytes === undefined) throw blockMissing(digest, 0);
    for (const link of decodeLinks(digest, bytes).links) found.add(link);
  }
  return found;
}

interface Found {
  readonly taken: readonly { readonly digest: Digest; readonly bytes: number }[];
  readonly more: boolean;
}

/** Old enough blocks that are below no pin. */
function free(stored: Stored, { beforeMs, maxBlocks }: Sweep, without: ReadonlySet<Digest>): Found {
  const { blocks, pins, owner, storedSince } = stored;
  const roots = Object.values(pins).flatMap((all: ReadonlyMap<Digest, number>) =>
    [...all.keys()].filter((root) => all !== pins[owner] || !without.has(root)),
  );
  const kept = new Set(roots.flatMap((root) => [...below(root, blocks)]));
  const old = [...blocks]
    .filter(([digest]) => !kept.has(digest) && storedSince(digest) < beforeMs)
    .map(([digest, bytes]) => ({ digest, bytes: bytes.length }));
  return { taken: old.slice(0, maxBlocks), more: old.length > maxBlocks };
}

function sum({ taken, more }: Found): Swept {
  return { blocks: taken.length, bytes: taken.reduce((total, { bytes }) => total + bytes, 0), more };
}
