// An agent's data directory on a disk of its own, which can be full, read-only, or hold a journal that was cut off.
import { execFileSync } from "node:child_process";
import { open, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  decodeJournalHeader,
  encodeRecord,
  scanRecords,
  JOURNAL_HEADER_BYTES,
} from "../agents/adapters/journal/codec.ts";

export interface Disk {
  /** Takes all room, where this machine lets the harness mount a disk, and the disk can be written. */
  fill(): Promise<void>;
  empty(): Promise<void>;
  /** Makes it read-only, where this machine lets the harness mount one. The agent must not run. */
  protect(): Promise<void>;
  unprotect(): void;
  /** Appends the beginning of one more record to the newest journal of a request. */
  tear(): Promise<void>;
  close(): void;
}

const OPTIONS = "size=96m";
const PROTECT_TRIES = 20;
const PROTECT_EVERY_MS = 100;

/** Mounts a disk at the directory if it is to be one of its own, and this machine lets the harness do so. */
export function openDisk(directory: string, isOwn: boolean): Disk {
  const isMounted = isOwn && succeeds("mount", ["-t", "tmpfs", "-o", OPTIONS, "none", directory]);
  const filler = join(directory, "filler");
  let isProtected = false;
  return {
    async fill() {
      if (isMounted && !isProtected) await fillUp(filler);
    },
    async empty() {
      if (!isProtected) await rm(filler, { force: true });
    },
    async protect() {
      if (!isMounted) return;
      // A second process for the folder may still be about to end.
      for (let tries = 0; !isProtected && tries < PROTECT_TRIES; tries++) {
        isProtected = remount(directory, "ro");
        if (!isProtected) await sleep(PROTECT_EVERY_MS);
      }
    },
    unprotect() {
      if (isProtected && remount(directory, "rw")) isProtected = false;
    },
    async tear() {
      if (!isProtected) await tearNewest(join(directory, "journals"));
    },
    close() {
      if (isMounted) execFileSync("umount", ["-l", directory]);
    },
  };
}

/** False if somebody has a file open for writing. */
function remount(path: string, mode: "ro" | "rw"): boolean {
  return succeeds("mount", ["-o", `remount,${mode}`, path]);
}

function succeeds(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

async function fillUp(path: string): Promise<void> {
  const file = await open(path, "w");
  try {
    for (let size = 1 << 20; size >= 1; size >>= 4)
      for (const bytes = Buffer.alloc(size, 1); ;) await file.write(bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    await file.close();
  }
}

/** The files of requests' journals in a folder. Throws ENOENT if the folder does not exist. */
export async function journalsIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => /^request-.*\.journal$/.test(name));
}

/** What an interrupted write leaves: a record of which only the beginning is there. */
async function tearNewest(journals: string): Promise<void> {
  const names = await journalsIn(journals);
  const aged = await Promise.all(
    names.map(async (name) => ({ path: join(journals, name), atMs: (await stat(join(journals, name))).mtimeMs })),
  );
  const newest = aged.toSorted((one, other) => other.atMs - one.atMs)[0];
  if (newest === undefined) return;
  const bytes = await readFile(newest.path);
  const salt = decodeJournalHeader(bytes.subarray(0, JOURNAL_HEADER_BYTES), bytes.length);
  if (!(salt instanceof Uint8Array)) return;
  const scan = scanRecords(async (offset, length) => bytes.subarray(offset, offset + length), bytes.length, salt);
  let step = await scan.next();
  while (!step.done) step = await scan.next();
  if (step.value.kind !== "whole") return;
  const record = encodeRecord(salt, step.value.records, Buffer.alloc(100, 7));
  await writeFile(newest.path, Buffer.concat([bytes.subarray(0, step.value.end), record.subarray(0, 60)]));
}
