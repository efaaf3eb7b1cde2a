import { mkdir, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { cidString } from "../../core/codec.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { blockMissing, cidOf, digestOfBlock } from "./block.ts";
import { LocalBlocks } from "./local-blocks.ts";
import { walkDag } from "./walk.ts";

/** A folder that fetches nothing: `blocks` and, as an empty file per root, `pins`. */
export async function createFolderContentStore(path: string): Promise<ContentStore> {
  const pins = join(path, "pins");
  await mkdir(pins, { recursive: true });
  const local = new LocalBlocks(join(path, "blocks"));
  await local.open();
  let closed = false;

  async function get(digest: Digest, signal?: AbortSignal): Promise<Uint8Array> {
    const bytes = closed || signal?.aborted === true ? null : await local.read(digest);
    if (bytes === null) throw blockMissing(digest, 0);
    return bytes;
  }

  return {
    async put(bytes, signal) {
      signal?.throwIfAborted();
      const digest = digestOfBlock(bytes);
      if (!(await isSound(local, digest))) await local.put(cidOf(digest), bytes);
      await local.flush(cidOf(digest));
      return digest;
    },
    get,
    has: (digest) => local.has(cidOf(digest)),
    async pin(root, signal) {
      for await (const _ of walkDag(root, (digest) => get(digest, signal))) continue;
      const file = await open(join(pins, cidString(root)), "a");
      await file.sync();
      await file.close();
    },
    isPinned: (root) =>
      stat(join(pins, cidString(root))).then(
        () => true,
        () => false,
      ),
    async close() {
      closed = true;
    },
  };
}

/** Whether a block is here with the right bytes. */
export async function isSound(local: LocalBlocks, digest: Digest): Promise<boolean> {
  try {
    return (await local.read(digest)) !== null;
  } catch (error) {
    if (error instanceof ConclaveError && error.code === "BLOCK_INVALID") return false;
    throw error;
  }
}
