import { renameSync, writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { cidString, digestFromCid } from "../../core/encoding/cid.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import type { Pin, PinOwner } from "../../ports/content-store.ts";
import { flushPath } from "./local-blocks.ts";

/** Each owner's folder. */
const FOLDERS: Readonly<Record<PinOwner, string>> = { operator: "pins", seat: "seat-pins" };

/** AV7: pins as files, named by the root's CID, with the CIDs of all its blocks, one a line and the root first. */
export interface PinFiles {
  /** Adds a pin durably, whole or not at all. */
  add(root: Digest, blocks: readonly Digest[]): Promise<void>;
  remove(root: Digest): Promise<boolean>;
  /** True if any owner has pinned the root. */
  has(root: Digest): Promise<boolean>;
  /** Lists this owner's pins. */
  list(): Promise<readonly Pin[]>;
  /**
   * Yields the blocks of all pins except these of the owner; some more than once. Throws STORE_INVALID for an
   * unreadable file.
   */
  blocks(without: ReadonlySet<Digest>): AsyncGenerator<Digest>;
}

/** Opens the pins; `writable` makes the folder. */
export async function openPinFiles(path: string, owner: PinOwner, writable: boolean): Promise<PinFiles> {
  const own = join(path, FOLDERS[owner]);
  if (writable) await mkdir(own, { recursive: true });
  return {
    async add(root, blocks) {
      const name = cidString(root);
      const temporary = join(own, `.${name}.new`);
      // A seat signs once this is done: only the flushes take a thread.
      writeFileSync(temporary, blocks.map((digest) => `${cidString(digest)}\n`).join(""));
      await flushPath(temporary);
      renameSync(temporary, join(own, name));
      await flushPath(own);
    },
    async remove(root) {
      const file = join(own, cidString(root));
      if (!(await exists(file))) return false;
      await rm(file, { force: true });
      await flushPath(own);
      return true;
    },
    async has(root) {
      for (const folder of Object.values(FOLDERS)) if (await exists(join(path, folder, cidString(root)))) return true;
      return false;
    },
    async list() {
      const pins: Pin[] = [];
      for (const root of await rootsIn(own)) {
        const found = await stat(join(own, cidString(root))).catch(() => null);
        if (found !== null) pins.push({ root, sinceMs: found.mtimeMs });
      }
      return pins;
    },
    async *blocks(without) {
      for (const folder of Object.values(FOLDERS).map((name) => join(path, name)))
        for (const root of await rootsIn(folder)) {
          if (folder !== own || !without.has(root)) yield* await readPin(folder, root);
        }
    },
  };
}

async function rootsIn(folder: string): Promise<readonly Digest[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
  return names.flatMap((name) => digestFromCid(name) ?? []);
}

/** Reads the list of blocks that a pin keeps. The list is empty if the root was unpinned in the meantime. */
async function readPin(folder: string, root: Digest): Promise<readonly Digest[]> {
  const path = join(folder, cidString(root));
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  });
  if (text === null) return [];
  const blocks = text.split("\n").slice(0, -1).map(digestFromCid);
  if (text.endsWith("\n") && blocks[0] === root && blocks.every((digest) => digest !== null)) return blocks;
  throw new ConclaveError(
    "STORE_INVALID",
    `Read the pin ${path} failed: the file is not a list of the blocks below its root; pin ${cidString(root)} again, which writes the list anew and keeps the blocks`,
    { path, cid: cidString(root) },
  );
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
