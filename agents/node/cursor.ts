import { decode, encode, isMapOf } from "../core/encoding/codec.ts";
import { bytesToHex, hexToBytes, utf8 } from "../core/encoding/bytes.ts";
import type { RequestId, Value } from "../core/types.ts";
import type { Cursor } from "../ports/chain.ts";
import { maxRecordBytes, type Journal, type JournalFactory } from "../ports/journal.ts";

const NAME = "cursor";
const DRAFT = "cursor-new";
/** CE11: the names of removed journals, and never fewer: about 60 bytes for each attempt that this agent sat in. */
const ENDED = "ended";
/** Blocks between two stored positions while nothing happens. */
const STORE_EVERY = 100n;
/**
 * Most requests whose events are kept by their blocks; a record has room for all. The position stays before any other
 * request, so that a flood of requests that wait costs time at a restart and loses none.
 */
const MAX_KEPT = 4096;

/** The blocks of a request's events, one for each event, in chain order. */
export type EventBlocks = readonly bigint[];

/**
 * Position from which a restart follows the chain: before the oldest request that still needs something, so that the
 * restart sees all its events. A request that has waited (SE25) may be a month old: it does not hold the position back,
 * and the cursor keeps the blocks of its events in its place.
 */
export interface StoredCursor {
  readonly position: Cursor | null;
  /** Requests whose first event lies before the position, with the blocks of their events up to the position. */
  readonly kept: ReadonlyMap<RequestId, EventBlocks>;
  /**
   * `arrived`: requests first seen in this batch. `open`: all requests that are not final or not settled after it.
   * `waited`: those of them that have waited. Rejects if the disk does not take the position; the next call stores it,
   * with all that this one would have.
   */
  advance(
    next: Cursor,
    arrived: readonly RequestId[],
    open: readonly RequestId[],
    waited: ReadonlyMap<RequestId, EventBlocks>,
  ): Promise<void>;
  /**
   * Removes a closed journal as soon as no restart can see the request's events again. Until then the journal keeps the
   * agent from signing anew: a node that lags behind may describe a settled request as open.
   */
  retire(journal: string, settledAt: bigint): void;
  /** The journal is in use again: a reorganisation took the decision back. */
  keep(journal: string): void;
  /** CE11: true if a journal of this name was removed, ever: nothing tells any more what its seat has signed. */
  hasEnded(journal: string): boolean;
  close(): Promise<void>;
}

/**
 * `done`: journals that the position has passed; after a crash they may still exist. `kept`: what has changed in the kept
 * requests since the record before; no blocks for one that is kept no more.
 */
interface Entry {
  readonly position: Cursor;
  readonly done: readonly string[];
  readonly kept: ReadonlyMap<RequestId, EventBlocks>;
}

/** Journal names that fit into one record. */
const DONE_PER_RECORD = 4096;

export async function openCursor(journals: JournalFactory): Promise<StoredCursor> {
  const last = await lastEntry(journals);
  const ended = await openEnded(journals);
  const remove = async (names: readonly string[]): Promise<void> => {
    await ended.add(names);
    for (const name of names) await journals.remove(name);
  };
  await remove(last?.done ?? []);
  const position = last?.position ?? null;
  const kept = new Map(last?.kept ?? []);
  // Start afresh with one record, so that the file stays small. The old file stays until the new one has the record.
  await journals.remove(DRAFT);
  const draft = await journals.open(DRAFT);
  try {
    if (position !== null) await draft.append(encodeEntry({ position, done: [], kept }));
  } finally {
    await draft.close();
  }
  await journals.rename(DRAFT, NAME);
  const file = await openRecords(journals, NAME);
  const write = (entry: Entry): Promise<void> => file.append(encodeEntry(entry));
  const arrivedAfter = new Map<RequestId, Cursor | null>();
  const keep = createKept(kept);
  const retired = new Map<string, bigint>();
  let previous = position;
  let stored = position;
  return {
    position,
    kept: new Map(kept),
    async advance(next, arrived, open, waited) {
      for (const requestId of arrived) arrivedAfter.set(requestId, previous);
      keep.see(waited);
      const isOpen = new Set(open);
      for (const requestId of arrivedAfter.keys())
        if (!isOpen.has(requestId) || kept.has(requestId)) arrivedAfter.delete(requestId);
      previous = next;
      const oldest = [...arrivedAfter.values()][0];
      const safe = oldest === undefined ? next : oldest;
      if (safe === null) return;
      keep.forget(isOpen, next.blockNumber, safe.blockNumber);
      const done = [...retired].filter(([, at]) => at <= safe.blockNumber).map(([name]) => name);
      if (done.length === 0) {
        if (safe.blockNumber === stored?.blockNumber) return;
        if (arrived.length === 0 && stored !== null && safe.blockNumber - stored.blockNumber < STORE_EVERY) return;
      }
      const removable = done.slice(0, DONE_PER_RECORD);
      await write({ position: safe, done: removable, kept: keep.changes() });
      keep.stored();
      stored = safe;
      await remove(removable);
      for (const name of removable) retired.delete(name);
      if (removable.length > 0) await write({ position: safe, done: [], kept: new Map() });
    },
    retire(name, settledAt) {
      retired.set(name, settledAt);
    },
    keep(name) {
      retired.delete(name);
    },
    hasEnded: ended.has,
    async close() {
      await file.close();
      await ended.close();
    },
  };
}

/** Opens the list of the journals that were removed. */
async function openEnded(journals: JournalFactory) {
  const names = new Set<string>();
  const file = await openRecords(journals, ENDED, (record) => void names.add(new TextDecoder().decode(record)));
  return {
    has: (name: string): boolean => names.has(name),
    async add(added: readonly string[]): Promise<void> {
      for (const name of added) {
        if (names.has(name)) continue;
        await file.append(utf8(name));
        names.add(name);
      }
    },
    close: file.close,
  };
}

/** Opens a journal that goes on after an append has failed. */
async function openRecords(journals: JournalFactory, name: string, onRecord?: (record: Uint8Array) => void) {
  let journal: Journal | null = await journals.open(name);
  if (onRecord !== undefined) for await (const record of journal.read()) onRecord(record);
  return {
    async append(record: Uint8Array): Promise<void> {
      journal ??= await journals.open(name);
      try {
        await journal.append(record);
      } catch (error) {
        // After a failed append only opening the journal again shows what the disk holds.
        const failed = journal;
        journal = null;
        await failed.close();
        throw error;
      }
    },
    close: async (): Promise<void> => await journal?.close(),
  };
}

/** Follows which requests are kept, in `kept`, and what of that no record says yet. */
function createKept(kept: Map<RequestId, EventBlocks>) {
  /** The first block after which a kept request was not open any more. */
  const endedAt = new Map<RequestId, bigint>();
  const changed = new Set<RequestId>();
  return {
    see(waited: ReadonlyMap<RequestId, EventBlocks>): void {
      for (const [requestId, blocks] of waited) {
        const known = kept.get(requestId);
        if (known?.length === blocks.length || (known === undefined && kept.size >= MAX_KEPT)) continue;
        kept.set(requestId, [...blocks]);
        changed.add(requestId);
      }
    },
    /** Forgets what has ended before the position: a restart there sees nothing of it. */
    forget(isOpen: ReadonlySet<RequestId>, now: bigint, position: bigint): void {
      for (const requestId of kept.keys()) {
        if (isOpen.has(requestId)) {
          endedAt.delete(requestId);
          continue;
        }
        const at = endedAt.get(requestId) ?? now;
        endedAt.set(requestId, at);
        if (at > position) continue;
        kept.delete(requestId);
        endedAt.delete(requestId);
        changed.add(requestId);
      }
    },
    changes(): ReadonlyMap<RequestId, EventBlocks> {
      return new Map([...changed].map((requestId) => [requestId, kept.get(requestId) ?? []] as const));
    },
    /** A record says the changes: one that the disk refused said none. */
    stored: () => changed.clear(),
  };
}

/** Returns the last record, with all requests that are kept at its position. */
async function lastEntry(journals: JournalFactory): Promise<Entry | null> {
  if (!(await journals.list()).includes(NAME)) return null;
  const journal = await journals.open(NAME);
  let last: Entry | null = null;
  const kept = new Map<RequestId, EventBlocks>();
  for await (const record of journal.read()) {
    const entry = decodeEntry(record);
    if (entry === null) continue;
    last = entry;
    for (const [requestId, blocks] of entry.kept) kept.set(requestId, blocks);
  }
  await journal.close();
  if (last === null) return null;
  const { blockNumber } = last.position;
  // Whoever follows the chain from the position sees the later events again.
  const before = [...kept].map(([id, blocks]) => [id, blocks.filter((block) => block <= blockNumber)] as const);
  return { ...last, kept: new Map(before.filter(([, blocks]) => blocks.length > 0)) };
}

function encodeEntry({ position, done, kept }: Entry): Uint8Array {
  const { blockNumber, blockHash } = position;
  const requests = [...kept].map(([requestId, blocks]) => [String(requestId), blocks.map(Number)]);
  return encode({ blockNumber: Number(blockNumber), blockHash: hexToBytes(blockHash), done, kept: requests });
}

function decodeEntry(bytes: Uint8Array): Entry | null {
  const value = decode(bytes, maxRecordBytes);
  if (!isMapOf(value, ["blockNumber", "blockHash", "done", "kept"])) return null;
  const { blockNumber, blockHash } = value;
  if (typeof blockNumber !== "number" || !(blockHash instanceof Uint8Array)) return null;
  if (!Array.isArray(value.done) || !Array.isArray(value.kept)) return null;
  const done = (value.done as readonly Value[]).filter((name) => typeof name === "string");
  // This agent wrote the record, and the journal's checksum covers it.
  const kept = (value.kept as readonly [string, readonly number[]][]).map(
    ([id, blocks]) => [BigInt(id) as RequestId, blocks.map(BigInt)] as const,
  );
  return {
    position: { blockNumber: BigInt(blockNumber), blockHash: bytesToHex(blockHash) },
    done,
    kept: new Map(kept),
  };
}
