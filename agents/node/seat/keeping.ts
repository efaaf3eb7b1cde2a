import PQueue from "p-queue";
import { sha256 } from "../../core/encoding/bytes.ts";
import type { Digest } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";

/** AV1, AV6: stores the blocks of one attempt in the seat's own store. */
export interface Keeping {
  /**
   * Stores a block that the transcript may hold, while the seat deliberates. Rejects if the store fails; `hold` then
   * stores the block again.
   */
  begin(block: Uint8Array): Promise<void>;
  /**
   * Resolves once all blocks of the transcript are written, read back and pinned. Works once per root; after a failure
   * the next call tries again.
   */
  hold(root: Digest, blocks: readonly Uint8Array[]): Promise<void>;
}

/** Blocks written at once. */
const WRITES = 16;

export function createKeeping(store: Pick<ContentStore, "put" | "pin">, lifetime: AbortSignal): Keeping {
  const stored = new Map<Digest, Promise<void>>();
  const held = new Map<Digest, Promise<void>>();

  /** Runs the work once per digest; failed work is forgotten, so that it can run again. */
  function once(known: Map<Digest, Promise<void>>, digest: Digest, work: () => Promise<void>): Promise<void> {
    const running = known.get(digest) ?? work();
    known.set(digest, running);
    running.catch(() => known.delete(digest));
    return running;
  }

  const write = (block: Uint8Array): Promise<void> =>
    once(stored, sha256(block), async () => void (await store.put(block, lifetime)));

  async function writeAll(blocks: readonly Uint8Array[]): Promise<void> {
    const writes = new PQueue({ concurrency: WRITES });
    await Promise.all(blocks.map((block) => writes.add(() => write(block))));
  }

  return {
    begin: write,
    hold: (root, blocks) =>
      once(held, root, async () => {
        await writeAll(blocks);
        try {
          // Pinning reads every block.
          await store.pin(root, lifetime);
        } catch {
          // Blocks written earlier are lost or damaged: write all of them again.
          stored.clear();
          await writeAll(blocks);
          await store.pin(root, lifetime);
        }
      }),
  };
}
