import type { Journal, JournalFactory } from "../../ports/journal.ts";
import {
  decodeJournalHeader,
  encodeJournalHeader,
  encodeRecord,
  JOURNAL_HEADER_BYTES,
  scanRecords,
  type ReadAt,
} from "../journal/codec.ts";
import { checkJournalName, corrupt, locked } from "../journal/names.ts";

/** Journals in memory, byte for byte like the files; a test or the simulator controls disk and crashes. */
export interface MemoryJournals extends JournalFactory {
  /**
   * Acts as if the process died: every journal is closed at once and can be opened again; acknowledged records stay.
   */
  crash(): void;
  /** Returns a copy of the stored bytes; empty if there is no such journal. */
  bytes(name: string): Uint8Array;
  /** Replaces the stored bytes of a closed journal, to cut or damage it. */
  overwrite(name: string, bytes: Uint8Array): void;
}

/** The stored bytes in pieces, so that an append does not copy what is there. */
type Store = Map<string, Uint8Array[]>;

export function createMemoryJournals(): MemoryJournals {
  const stored: Store = new Map();
  const opened = new Set<string>();
  /** Handles from before a crash may not write any more. */
  let life = 0;

  const load = async (
    name: string,
  ): Promise<{ readonly salt: Uint8Array; readonly records: number; readonly truncatedBytes: number }> => {
    const bytes = bytesOf(stored, name);
    const salt = decodeJournalHeader(bytes.subarray(0, JOURNAL_HEADER_BYTES), bytes.length);
    if (salt === "corrupt") throw corrupt(name, 0, "it does not begin like a journal");
    if (salt === "torn") {
      const fresh = new Uint8Array(JOURNAL_HEADER_BYTES - 8);
      stored.set(name, [encodeJournalHeader(fresh)]);
      return { salt: fresh, records: 0, truncatedBytes: bytes.length };
    }
    const scan = scanRecords(readerOf(bytes), bytes.length, salt);
    for (;;) {
      const step = await scan.next();
      if (!step.done) continue;
      if (step.value.kind === "corrupt") throw corrupt(name, step.value.offset, step.value.reason);
      stored.set(name, [bytes.slice(0, step.value.end)]);
      return { salt, records: step.value.records, truncatedBytes: bytes.length - step.value.end };
    }
  };

  return {
    async open(name) {
      checkJournalName(name);
      if (opened.has(name)) throw locked(name);
      opened.add(name);
      const openedIn = life;
      try {
        const { salt, records, truncatedBytes } = await load(name);
        return memoryJournal(name, salt, records, truncatedBytes, stored, {
          isOpen: () => life === openedIn,
          close: () => life === openedIn && opened.delete(name),
        });
      } catch (error) {
        opened.delete(name);
        throw error;
      }
    },
    list: async () => [...stored.keys()].toSorted(),
    async remove(name) {
      checkJournalName(name);
      if (opened.has(name)) throw locked(name);
      stored.delete(name);
    },
    async rename(name, to) {
      checkJournalName(to);
      if (opened.has(name) || opened.has(to)) throw locked(opened.has(name) ? name : to);
      const pieces = stored.get(name);
      if (pieces === undefined) throw new Error(`journal ${name} does not exist`);
      stored.delete(name);
      stored.set(to, pieces);
    },
    crash() {
      life++;
      opened.clear();
    },
    bytes: (name) => bytesOf(stored, name),
    overwrite: (name, bytes) => void stored.set(name, [Uint8Array.from(bytes)]),
  };
}

function memoryJournal(
  name: string,
  salt: Uint8Array,
  records: number,
  truncatedBytes: number,
  stored: Store,
  owner: { readonly isOpen: () => boolean; readonly close: () => void },
): Journal {
  let nextIndex = records;
  let closed = false;
  return {
    truncatedBytes,
    async *read() {
      const bytes = bytesOf(stored, name);
      const scan = scanRecords(readerOf(bytes), bytes.length, salt);
      for (let step = await scan.next(); !step.done; step = await scan.next()) yield step.value;
    },
    async append(record) {
      if (closed || !owner.isOpen()) throw new Error(`journal ${name} is closed`);
      stored.get(name)?.push(encodeRecord(salt, nextIndex, record));
      nextIndex++;
    },
    async close() {
      closed = true;
      owner.close();
    },
  };
}

function bytesOf(stored: Store, name: string): Uint8Array {
  return Uint8Array.from(Buffer.concat(stored.get(name) ?? []));
}

function readerOf(bytes: Uint8Array): ReadAt {
  return async (offset, length) => bytes.subarray(offset, offset + length);
}
