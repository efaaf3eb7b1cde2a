import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ConclaveError, messageOf } from "../core/errors.ts";

/** The lock's file, which stays behind empty: if it were removed, two processes could lock two files of one name. */
const LOCK_FILE = "lock";
const SQLITE_BUSY = 5;
const SQLITE_NOT_A_DATABASE = 26;

/**
 * Locks a directory for this process and returns the release function. Throws `busy` if another process, or another
 * part of this one, holds it, and CONFIG_INVALID if it cannot be written; `option` names the directory. The lock is the
 * operating system's lock on a file, taken through SQLite because Node has no call for it. It ends with the process,
 * however that dies, so no stale lock has to be recognised.
 */
export function lockDirectory(directory: string, busy: (cause: unknown) => ConclaveError, option?: string): () => void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return lockFile(join(directory, LOCK_FILE), busy);
  } catch (error) {
    throw error instanceof ConclaveError ? error : unwritable(directory, option, error);
  }
}

/** Locks by a file of its own, in an existing folder. */
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

/** The error for a folder in which nothing can be written; `option` names the folder, if one does. */
export function unwritable(folder: string, option: string | undefined, cause: unknown): ConclaveError {
  const other = option === undefined ? "name another folder" : `name another folder with ${option}`;
  const { errcode } = cause as { readonly errcode?: number };
  const way = errcode === SQLITE_NOT_A_DATABASE ? `remove the file ${LOCK_FILE} in it` : "let this account write there";
  const message = `Write into the folder ${folder} failed: ${messageOf(cause)}; ${way}, or ${other}`;
  return new ConclaveError("CONFIG_INVALID", message, { path: folder, ...(option !== undefined && { option }) }, cause);
}
