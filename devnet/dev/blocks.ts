// The blocks of all agents of a local world, as one store to read.
import { blockMissing } from "../../agents/adapters/ipfs/block.ts";
import { openFolderReader } from "../../agents/adapters/ipfs/folder-content-store.ts";
import type { ContentStore } from "../../agents/ports/content-store.ts";

/** Opens the agents' folders of blocks, which may be there later. Each agent has the transcripts of its own committees. */
export async function openAllBlocks(folders: readonly string[]): Promise<Pick<ContentStore, "get" | "has" | "close">> {
  const readers = await Promise.all(folders.map((folder) => openFolderReader(folder)));
  return {
    async get(digest, signal) {
      for (const reader of readers) if (await reader.has(digest)) return reader.get(digest, signal);
      throw blockMissing(digest, 0);
    },
    async has(digest) {
      for (const reader of readers) if (await reader.has(digest)) return true;
      return false;
    },
    close: async () => void (await Promise.all(readers.map((reader) => reader.close()))),
  };
}
