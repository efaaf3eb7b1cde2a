import { dirname, join } from "node:path";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import type { CollectedStore, PinOwner, Sweep, Swept } from "../../ports/content-store.ts";
import { lockDirectory } from "../lock.ts";
import { flushPath, LocalBlocks } from "./local-blocks.ts";
import { openPinFiles } from "./pin-files.ts";
import { walkDag } from "./walk.ts";

/** A folder of blocks and pins with its lock. */
export interface KeptFolder extends Omit<CollectedStore, "put" | "get" | "has" | "pin" | "close"> {
  readonly local: LocalBlocks;
  /** Pins a root; `get` fetches the blocks that are not here. */
  pin(root: Digest, get: (digest: Digest) => Promise<Uint8Array>): Promise<void>;
  close(): void;
}

/**
 * Opens the folder. `locked` takes it for this process alone, which every writer must do; throws STORE_LOCKED if
 * another process has it. A reader needs no lock.
 */
export async function openKeptFolder(path: string, owner: PinOwner, locked: boolean): Promise<KeptFolder> {
  const pins = await openPinFiles(path, owner, locked);
  const release = locked ? lockDirectory(path, (cause) => busy(path, cause)) : () => {};
  const local = new LocalBlocks(join(path, "blocks"));
  if (locked) {
    await local.open();
    // Flushes the folders' names, without which their files are lost after a power failure.
    for (const folder of [path, dirname(path)]) await flushPath(folder);
  }
  /** Number of pins begun. If it changes during a sweep, something was pinned that the sweep does not know. */
  let pinsBegun = 0;
  let pinning = 0;

  /** Returns a test for blocks below no pin, by prefix. Two digests with one prefix only keep a block needlessly. */
  async function unpinned(without: ReadonlySet<Digest>): Promise<(digest: Digest) => boolean> {
    const kept = new Set<number>();
    for await (const digest of pins.blocks(without)) kept.add(prefixOf(digest));
    return (digest) => !kept.has(prefixOf(digest));
  }

  async function scan(
    { maxBlocks }: Sweep,
    isFree: (digest: Digest) => boolean,
    take: (digest: Digest) => Promise<number | null>,
    signal: AbortSignal | undefined,
  ): Promise<Swept> {
    let blocks = 0;
    let bytes = 0;
    for await (const digest of local.stored()) {
      signal?.throwIfAborted();
      if (!isFree(digest)) continue;
      if (blocks >= maxBlocks) return { blocks, bytes, more: true };
      const taken = await take(digest);
      if (taken === null) continue;
      blocks += 1;
      bytes += taken;
    }
    return { blocks, bytes, more: false };
  }

  return {
    local,
    async pin(root, get) {
      pinsBegun += 1;
      pinning += 1;
      try {
        await local.removed();
        const blocks: Digest[] = [];
        for await (const { digest } of walkDag(root, async (one) => {
          const bytes = await get(one);
          await local.flush(one);
          return bytes;
        }))
          blocks.push(digest);
        await pins.add(root, blocks);
      } finally {
        pinning -= 1;
      }
    },
    unpin: (root) => pins.remove(root),
    isPinned: (root) => pins.has(root),
    pins: () => pins.list(),
    async wouldSweep(sweep, without, signal) {
      const isFree = await unpinned(without);
      return scan(sweep, isFree, (digest) => local.bytesIfOlder(digest, sweep.beforeMs), signal);
    },
    async sweep(sweep, signal) {
      const known = pinsBegun;
      if (pinning > 0) return { blocks: 0, bytes: 0, more: true };
      const isFree = await unpinned(new Set());
      let isOutdated = false;
      const remove = async (digest: Digest): Promise<number | null> => {
        isOutdated ||= pinsBegun !== known;
        return isOutdated ? null : local.removeIfOlder(digest, sweep.beforeMs);
      };
      const swept = await scan(sweep, isFree, remove, signal);
      return { ...swept, more: swept.more || isOutdated };
    },
    close: release,
  };
}

/** Returns 48 of 256 bits, which fit a number: a pinned block takes some 40 bytes of memory during a sweep. */
function prefixOf(digest: Digest): number {
  return Number.parseInt(digest.slice(2, 14), 16);
}

function busy(path: string, cause: unknown): ConclaveError {
  return new ConclaveError(
    "STORE_LOCKED",
    `Open the store ${path} failed: another process writes there; wait for it or stop it`,
    { path },
    cause,
  );
}
