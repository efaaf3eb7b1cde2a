import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ConclaveError } from "../core/errors.ts";

/** Stays behind empty: removing it would let two processes lock two files of one name. */
const LOCK_FILE = "lock";
const SQLITE_BUSY = 5;

/**
 * Takes a directory for this process and returns the release function; throws `busy` when another process, or another
 * part of this one, has it. The lock is the operating system's on the file, taken through SQLite because Node has no call for
 * it: it ends with the process, however that dies, so there is no stale lock to recognise and no race in recovering one.
 */
export function lockDirectory(directory: string, busy: (cause: unknown) => ConclaveError): () => void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return lockFile(join(directory, LOCK_FILE), busy);
}

/** The same by a file of its own, in a folder that is there. */
export function lockFile(path: string, busy: (cause: unknown) => ConclaveError): () => void {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode = MEMORY");
    database.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    database.close();
    if ((cause as { errcode?: number }).errcode !== SQLITE_BUSY) throw cause;
    throw busy(cause);
  }
  return () => database.close();
}
