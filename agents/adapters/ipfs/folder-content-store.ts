import type { Digest } from "../../core/types.ts";
import type { CollectedStore, ContentStore, PinList, PinOwner } from "../../ports/content-store.ts";
import { blockMissing, cidOf, digestOfBlock } from "./block.ts";
import { openKeptFolder, type KeptFolder } from "./kept-folder.ts";

/** Opens a folder that fetches nothing, for this process alone. Throws STORE_LOCKED. */
export async function createFolderContentStore(path: string, owner: PinOwner = "operator"): Promise<CollectedStore> {
  const folder = await openKeptFolder(path, owner, true);
  const reader = readFolder(folder);
  return {
    ...folder,
    ...reader,
    async put(bytes, signal) {
      signal?.throwIfAborted();
      const digest = digestOfBlock(bytes);
      await folder.local.store(digest, bytes);
      return digest;
    },
    pin: (root, signal) => folder.pin(root, (digest) => reader.get(digest, signal)),
  };
}

/** The same folder to read only, even while another process writes to it. */
export type FolderReader = Pick<ContentStore, "get" | "has" | "close"> & PinList;

export async function openFolderReader(path: string, owner: PinOwner = "operator"): Promise<FolderReader> {
  const folder = await openKeptFolder(path, owner, false);
  const { pins, wouldSweep } = folder;
  return { ...readFolder(folder), pins, wouldSweep };
}

function readFolder(folder: KeptFolder): Pick<ContentStore, "get" | "has" | "close"> {
  let closed = false;
  return {
    async get(digest: Digest, signal?: AbortSignal): Promise<Uint8Array> {
      const bytes = closed || signal?.aborted === true ? null : await folder.local.read(digest);
      if (bytes === null) throw blockMissing(digest, 0);
      return bytes;
    },
    has: (digest) => folder.local.has(cidOf(digest)),
    async close() {
      if (!closed) folder.close();
      closed = true;
    },
  };
}
