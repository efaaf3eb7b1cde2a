import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { createFolderContentStore } from "../../adapters/ipfs/folder-content-store.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { parseFolder } from "../shared/arguments.ts";

/** Where `conclave pin` keeps what it is told to keep. */
export const DEFAULT_PINS = "conclave-pins";

/**
 * The folder of `conclave pin`. One that is not there is made with the first block, so that a pin that is refused before leaves
 * nothing. A full disk, say, is an error of the folder's: throws CONFIG_INVALID, and STORE_LOCKED.
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

/** Step by step: where the system takes no folders, as in /proc, `mkdir` with all above never ends. */
async function makeFolder(path: string): Promise<void> {
  if (existsSync(path)) return;
  await makeFolder(dirname(path));
  await mkdir(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  });
}

/** What the blockstore and the lock say where the system refuses. */
function isStoreFailure(error: unknown): error is Error {
  return error instanceof Error && (error.name === "PutFailedError" || "errcode" in error);
}

export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

/** A folder of `conclave pin`, and no other: what nobody pinned elsewhere is not ours to remove. Throws USAGE or CONFIG_INVALID. */
export function pinsFolder(from: string, cwd: string): string {
  return keptFolder(from, cwd, ["pins"]);
}

/** Or the one of an agent, to read. */
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
