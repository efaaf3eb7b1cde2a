import { decode, encode, isMapOf } from "../core/codec.ts";
import { bytesToHex, hexToBytes } from "../core/digest.ts";
import type { RequestId } from "../core/types.ts";
import type { Cursor } from "../ports/chain.ts";
import type { JournalFactory } from "../ports/journal.ts";

const NAME = "cursor";
/** Blocks between two stored positions while nothing happens. */
const STORE_EVERY = 100n;

/** Where to resume following the chain: before the oldest request that is still open, so that a restart sees it again. */
export interface StoredCursor {
  readonly position: Cursor | null;
  /** `arrived`: requests first seen in this batch; `open`: all that are not final after it. */
  advance(next: Cursor, arrived: readonly RequestId[], open: readonly RequestId[]): Promise<void>;
  close(): Promise<void>;
}

export async function openCursor(journals: JournalFactory): Promise<StoredCursor> {
  const position = await lastPosition(journals);
  // Start afresh with one record, so that the file stays small.
  await journals.remove(NAME);
  const journal = await journals.open(NAME);
  if (position !== null) await journal.append(encodeCursor(position));
  const arrivedAfter = new Map<RequestId, Cursor | null>();
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
      if (safe === null || safe.blockNumber === stored?.blockNumber) return;
      if (arrived.length === 0 && stored !== null && safe.blockNumber - stored.blockNumber < STORE_EVERY) return;
      stored = safe;
      await journal.append(encodeCursor(safe));
    },
    close: () => journal.close(),
  };
}

async function lastPosition(journals: JournalFactory): Promise<Cursor | null> {
  if (!(await journals.list()).includes(NAME)) return null;
  const journal = await journals.open(NAME);
  let last: Cursor | null = null;
  for await (const record of journal.read()) last = decodeCursor(record) ?? last;
  await journal.close();
  return last;
}

function encodeCursor(cursor: Cursor): Uint8Array {
  return encode({ blockNumber: Number(cursor.blockNumber), blockHash: hexToBytes(cursor.blockHash) });
}

function decodeCursor(bytes: Uint8Array): Cursor | null {
  const value = decode(bytes, 256);
  if (!isMapOf(value, ["blockNumber", "blockHash"])) return null;
  if (typeof value.blockNumber !== "number" || !(value.blockHash instanceof Uint8Array)) return null;
  return { blockNumber: BigInt(value.blockNumber), blockHash: bytesToHex(value.blockHash) };
}
