import { decode, encode, isMapOf } from "../core/encoding/codec.ts";
import { bytesToHex, hexToBytes } from "../core/encoding/bytes.ts";
import type { RequestId, Value } from "../core/types.ts";
import type { Cursor } from "../ports/chain.ts";
import { maxRecordBytes, type Journal, type JournalFactory } from "../ports/journal.ts";

const NAME = "cursor";
/** Blocks between two stored positions while nothing happens. */
const STORE_EVERY = 100n;

/**
 * Position from which a restart follows the chain: before the oldest request that still needs something, so that the
 * restart sees all its events.
 */
export interface StoredCursor {
  readonly position: Cursor | null;
  /**
   * `arrived`: requests first seen in this batch. `open`: all requests that are not final or not settled after it.
   * Rejects if the disk does not take the position; the next call stores it, with all that this one would have.
   */
  advance(next: Cursor, arrived: readonly RequestId[], open: readonly RequestId[]): Promise<void>;
  /**
   * Removes a closed journal as soon as no restart can see the request's events again. Until then the journal keeps the
   * agent from signing anew: a node that lags behind may describe a settled request as open.
   */
  retire(journal: string, settledAt: bigint): void;
  /** The journal is in use again: a reorganisation took the decision back. */
  keep(journal: string): void;
  close(): Promise<void>;
}

/** `done`: journals that the position has passed; after a crash they may still exist. */
interface Entry {
  readonly position: Cursor;
  readonly done: readonly string[];
}

/** Journal names that fit into one record. */
const DONE_PER_RECORD = 4096;

export async function openCursor(journals: JournalFactory): Promise<StoredCursor> {
  const last = await lastEntry(journals);
  for (const name of last?.done ?? []) await journals.remove(name);
  const position = last?.position ?? null;
  // Start afresh with one record, so that the file stays small.
  await journals.remove(NAME);
  let journal: Journal | null = await journals.open(NAME);
  const write = async (entry: Entry): Promise<void> => {
    journal ??= await journals.open(NAME);
    try {
      await journal.append(encodeEntry(entry));
    } catch (error) {
      // After a failed append only opening the journal again shows what the disk holds.
      const failed = journal;
      journal = null;
      await failed.close();
      throw error;
    }
  };
  if (position !== null) await write({ position, done: [] });
  const arrivedAfter = new Map<RequestId, Cursor | null>();
  const retired = new Map<string, bigint>();
  let previous = position;
  let stored = position;
  return {
    position,
    async advance(next, arrived, open) {
      for (const requestId of arrived) arrivedAfter.set(requestId, previous);
      for (const requestId of arrivedAfter.keys()) if (!open.includes(requestId)) arrivedAfter.delete(requestId);
      previous = next;
      const oldest = [...arrivedAfter.values()][0];
      const safe = oldest === undefined ? next : oldest;
      if (safe === null) return;
      const done = [...retired].filter(([, at]) => at <= safe.blockNumber).map(([name]) => name);
      if (done.length === 0) {
        if (safe.blockNumber === stored?.blockNumber) return;
        if (arrived.length === 0 && stored !== null && safe.blockNumber - stored.blockNumber < STORE_EVERY) return;
      }
      const removable = done.slice(0, DONE_PER_RECORD);
      await write({ position: safe, done: removable });
      stored = safe;
      for (const name of removable) {
        retired.delete(name);
        await journals.remove(name);
      }
      if (removable.length > 0) await write({ position: safe, done: [] });
    },
    retire(name, settledAt) {
      retired.set(name, settledAt);
    },
    keep(name) {
      retired.delete(name);
    },
    close: async () => await journal?.close(),
  };
}

async function lastEntry(journals: JournalFactory): Promise<Entry | null> {
  if (!(await journals.list()).includes(NAME)) return null;
  const journal = await journals.open(NAME);
  let last: Entry | null = null;
  for await (const record of journal.read()) last = decodeEntry(record) ?? last;
  await journal.close();
  return last;
}

function encodeEntry({ position, done }: Entry): Uint8Array {
  return encode({ blockNumber: Number(position.blockNumber), blockHash: hexToBytes(position.blockHash), done });
}

function decodeEntry(bytes: Uint8Array): Entry | null {
  const value = decode(bytes, maxRecordBytes);
  if (!isMapOf(value, ["blockNumber", "blockHash", "done"]) || !Array.isArray(value.done)) return null;
  if (typeof value.blockNumber !== "number" || !(value.blockHash instanceof Uint8Array)) return null;
  const done = (value.done as readonly Value[]).filter((name) => typeof name === "string");
  return { position: { blockNumber: BigInt(value.blockNumber), blockHash: bytesToHex(value.blockHash) }, done };
}
