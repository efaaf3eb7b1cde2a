import { dirname, join } from "node:path";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import type { CollectedStore, PinOwner, Sweep, Swept } from "../../ports/content-store.ts";
import { lockDirectory } from "../lock.ts";
import { flushPath, LocalBlocks } from "./local-blocks.ts";
import { openPinFiles } from "./pin-files.ts";
import { walkDag } from "./walk.ts";

/** A folder of blocks and pins, and who uses it. */
export interface KeptFolder extends Omit<CollectedStore, "put" | "get" | "has" | "pin" | "close"> {
  readonly local: LocalBlocks;
  /** `get` is asked for what is not here. */
  pin(root: Digest, get: (digest: Digest) => Promise<Uint8Array>): Promise<void>;
  close(): void;
}

/**
 * `locked`: for this process alone, as everybody has to who writes; throws STORE_LOCKED when another process has it. Who only reads
 * needs no lock.
 */
export async function openKeptFolder(path: string, owner: PinOwner, locked: boolean): Promise<KeptFolder> {
  const pins = await openPinFiles(path, owner, locked);
  const release = locked ? lockDirectory(path, (cause) => busy(path, cause)) : () => {};
  const local = new LocalBlocks(join(path, "blocks"));
  if (locked) {
    await local.open();
    // The names of its folders, without which what is in them is nowhere after a power failure.
    for (const folder of [path, dirname(path)]) await flushPath(folder);
  }
  /** A sweep that sees another number knows too little: something has been pinned since it looked. */
  let pinsBegun = 0;
  let pinning = 0;

  /** Names without a known prefix are below no pin. Equal prefixes of two digests keep a block for nothing, and lose none. */
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

/** 48 of 256 bits, which a number holds: a pinned block takes some 40 bytes of memory while a sweep runs. */
function prefixOf(digest: Digest): number {
  return Number.parseInt(digest.slice(2, 14), 16);
}

function busy(path: string, cause: unknown): ConclaveError {
  return new ConclaveError(
    "STORE_LOCKED",
    `Open the store ${path} failed: another process writes there; wait for it or stop it, or name another folder`,
    { path },
    cause,
  );
}
