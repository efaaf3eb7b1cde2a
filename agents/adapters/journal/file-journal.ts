import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

import { ConclaveError } from "../../core/errors.ts";
import type { Journal, JournalFactory } from "../../ports/journal.ts";
import {
  decodeJournalHeader,
  encodeJournalHeader,
  encodeRecord,
  JOURNAL_HEADER_BYTES,
  scanRecords,
  type ReadAt,
} from "./codec.ts";
import { lockDirectory } from "../lock.ts";
import { checkJournalName, corrupt, locked } from "./names.ts";

const SUFFIX = ".journal";
/** Bytes of waiting records that one fsync may cover. */
const BATCH_BYTES = 4 << 20;

/**
 * Keeps journals as files `<name>.journal` of one directory, which belongs to this process while at least one of them
 * is open. An append is one write and one fdatasync; appends that wait together share both.
 */
export function createFileJournals(directory: string): JournalFactory {
  const opened = new Set<string>();
  let release: (() => void) | null = null;

  const leave = (name: string): void => {
    opened.delete(name);
    if (opened.size > 0) return;
    release?.();
    release = null;
  };

  const enter = (name: string): void => {
    if (opened.has(name)) throw locked(join(directory, name + SUFFIX));
    release ??= lockDirectory(directory, (cause) => busy(directory, cause));
    opened.add(name);
  };

  return {
    async open(name) {
      checkJournalName(name);
      enter(name);
      try {
        return await openJournal(directory, name, () => leave(name));
      } catch (error) {
        leave(name);
        throw error;
      }
    },

    async list() {
      const files = await readdir(directory).catch(absentAs<string[]>([]));
      return files
        .filter((file) => file.endsWith(SUFFIX))
        .map((file) => file.slice(0, -SUFFIX.length))
        .toSorted();
    },

    async remove(name) {
      checkJournalName(name);
      enter(name);
      try {
        await unlink(join(directory, name + SUFFIX)).catch(absentAs(undefined));
        await syncDirectory(directory);
      } finally {
        leave(name);
      }
    },

    async rename(name, to) {
      checkJournalName(to);
      enter(name);
      try {
        if (opened.has(to)) throw locked(join(directory, to + SUFFIX));
        await rename(join(directory, name + SUFFIX), join(directory, to + SUFFIX));
        await syncDirectory(directory);
      } finally {
        leave(name);
      }
    },
  };
}

function busy(directory: string, cause: unknown): ConclaveError {
  return new ConclaveError(
    "JOURNAL_LOCKED",
    `Open journals in ${directory} failed: another process writes there; stop it, or give each agent its own data directory`,
    { path: directory },
    cause,
  );
}

async function openJournal(directory: string, name: string, onClose: () => void): Promise<Journal> {
  const path = join(directory, name + SUFFIX);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const created = (await stat(path).catch(absentAs(null))) === null;
  const file = await open(path, created ? "wx+" : "r+", 0o600);
  try {
    const state = await prepare(file, path);
    // Syncs also what an earlier process wrote and could not sync: from now on it counts as acknowledged.
    await file.sync();
    await syncDirectory(directory);
    return journalOver(file, path, state, onClose);
  } catch (error) {
    await file.close();
    throw error;
  }
}

interface Prepared {
  readonly salt: Uint8Array;
  readonly end: number;
  readonly records: number;
  readonly truncatedBytes: number;
}

/** Checks every record, cuts off a torn append, and writes the header of a new file. */
async function prepare(file: FileHandle, path: string): Promise<Prepared> {
  const { size } = await file.stat();
  const readAt = readerOf(file);
  const salt = decodeJournalHeader(await readAt(0, JOURNAL_HEADER_BYTES), size);
  if (salt === "corrupt") throw corrupt(path, 0, "the file does not begin like a journal");
  if (salt === "torn") {
    const fresh = randomBytes(JOURNAL_HEADER_BYTES - 8);
    await file.truncate(0);
    await writeAll(file, encodeJournalHeader(fresh), 0);
    return { salt: fresh, end: JOURNAL_HEADER_BYTES, records: 0, truncatedBytes: size };
  }
  const scan = scanRecords(readAt, size, salt);
  for (;;) {
    const step = await scan.next();
    if (!step.done) continue;
    if (step.value.kind === "corrupt") throw corrupt(path, step.value.offset, step.value.reason);
    const { end, records, torn } = step.value;
    if (torn) await file.truncate(end);
    return { salt, end, records, truncatedBytes: size - end };
  }
}

function journalOver(file: FileHandle, path: string, state: Prepared, onClose: () => void): Journal {
  const { salt } = state;
  let { end } = state;
  let nextIndex = state.records;
  let waiting: { readonly bytes: Uint8Array; readonly resolve: () => void; readonly reject: (error: Error) => void }[] =
    [];
  let flushing: Promise<void> | null = null;
  let failure: Error | null = null;
  let closed: Promise<void> | null = null;

  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = takeBatch(waiting);
      waiting = waiting.slice(batch.length);
      const bytes = Buffer.concat(batch.map((one) => one.bytes));
      try {
        if (failure !== null) throw failure;
        await writeAll(file, bytes, end);
        await file.datasync();
        end += bytes.length;
        for (const one of batch) one.resolve();
      } catch (cause) {
        // After a failed write or fsync only opening the journal again shows what the disk holds.
        failure ??= writeFailed(path, cause);
        for (const one of batch) one.reject(failure);
      }
    }
    flushing = null;
  };

  return {
    truncatedBytes: state.truncatedBytes,

    async *read() {
      const scan = scanRecords(readerOf(file), end, salt);
      for (let step = await scan.next(); ; step = await scan.next()) {
        if (!step.done) yield step.value;
        else if (step.value.kind === "corrupt") throw corrupt(path, step.value.offset, step.value.reason);
        else if (step.value.torn) throw corrupt(path, step.value.end, "the file became shorter while it was open");
        else return;
      }
    },

    async append(record) {
      if (closed !== null) throw new Error(`journal ${path} is closed`);
      if (failure !== null) throw failure;
      const bytes = encodeRecord(salt, nextIndex, record);
      nextIndex++;
      return await new Promise<void>((resolve, reject) => {
        waiting.push({ bytes, resolve, reject });
        // Starts after the current turn of the event loop, so that appends of one such turn share the write.
        flushing ??= Promise.resolve().then(flush);
      });
    },

    async close() {
      closed ??= (async () => {
        await flushing;
        await file.close();
        onClose();
      })();
      await closed;
    },
  };
}

function takeBatch<T extends { readonly bytes: Uint8Array }>(waiting: readonly T[]): readonly T[] {
  let bytes = 0;
  const over = waiting.findIndex((one) => (bytes += one.bytes.length) > BATCH_BYTES);
  return over < 0 ? waiting : waiting.slice(0, Math.max(1, over));
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

function readerOf(file: FileHandle): ReadAt {
  return async (offset, length) => {
    const bytes = Buffer.alloc(length);
    let done = 0;
    while (done < length) {
      const { bytesRead } = await file.read(bytes, done, length - done, offset + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return bytes.subarray(0, done);
  };
}

/** Makes the creation or removal of a file in the directory durable. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function absentAs<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT") return value;
    throw error;
  };
}

function writeFailed(path: string, cause: unknown): ConclaveError {
  const reason = (cause as NodeJS.ErrnoException).code ?? "unknown";
  return new ConclaveError(
    "JOURNAL_CORRUPT",
    `Write to journal ${path} failed (${reason}); free the disk or repair it: what was acknowledged is kept`,
    { path, reason },
    cause,
  );
}
