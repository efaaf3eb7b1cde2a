import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { createFolderContentStore } from "../../adapters/ipfs/folder-content-store.ts";
import { makeFolder } from "../../adapters/make-folder.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { parseFolder } from "../shared/arguments.ts";
import { isSystemError } from "../shared/read-file.ts";

/** The folder where `conclave pin` keeps transcripts. */
export const DEFAULT_PINS = "conclave-pins";

/**
 * Opens the folder of `conclave pin`. A missing folder is made with the first block, so that a refused pin leaves
 * nothing. Throws STORE_LOCKED, and CONFIG_INVALID for a failure of the folder such as a full disk.
 */
export async function openPinsFolder(path: string): Promise<ContentStore> {
  const naming = async <T>(action: Promise<T>): Promise<T> => {
    try {
      return await action;
    } catch (error) {
      if (!isSystemError(error) && !isStoreFailure(error)) throw error;
      const message = `Write to ${path} failed: ${error.message}; make room or correct --into, then repeat the command`;
      throw new ConclaveError("CONFIG_INVALID", message, { path }, error);
    }
  };
  let opened: Promise<ContentStore> | null = null;
  const open = (): Promise<ContentStore> =>
    (opened ??= naming(makeFolder(path).then(() => createFolderContentStore(path))));
  if (existsSync(path)) await open();
  return {
    put: async (bytes, signal) => naming((await open()).put(bytes, signal)),
    get: async (digest, signal) => (await open()).get(digest, signal),
    has: async (digest, signal) => opened !== null && (await opened).has(digest, signal),
    pin: async (root, signal) => naming((await open()).pin(root, signal)),
    isPinned: async (root, signal) => opened !== null && (await opened).isPinned(root, signal),
    close: async () => {
      if (opened !== null) await (await opened).close();
    },
  };
}

/** True for the error of the blockstore if the system refuses. */
function isStoreFailure(error: unknown): error is Error {
  return error instanceof Error && error.name === "PutFailedError";
}

/**
 * Returns a folder of `conclave pin`. Refuses any other folder, since its unpinned blocks are not ours to remove.
 * Throws USAGE or CONFIG_INVALID.
 */
export function pinsFolder(from: string, cwd: string): string {
  return keptFolder(from, cwd, ["pins"]);
}

/** Returns a folder of `conclave pin` or of an agent, to read. */
export function anyFolder(from: string, cwd: string): string {
  return keptFolder(from, cwd, ["pins", "seat-pins"]);
}

function keptFolder(from: string, cwd: string, pins: readonly string[]): string {
  const path = resolve(cwd, parseFolder(from, "--from"));
  const has = (name: string): boolean => existsSync(join(path, name));
  if (has("blocks") && pins.some(has)) return path;
  throw new ConclaveError("CONFIG_INVALID", `Open ${path} failed: nothing is kept there; correct --from`, {
    path,
    option: "--from",
  });
}
