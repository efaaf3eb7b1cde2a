import { numberToHex } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import type { ChainEvent } from "../../core/request/events.ts";
import type { Hex } from "../../core/types.ts";
import type { ChainReader, Cursor, EventBatch } from "../../ports/chain.ts";
import type { Client, Connection } from "./connection.ts";
import { decodeLog, type MinedLog } from "./decode.ts";
import {
  RANGE_OF_ALL,
  endOfRange,
  grow,
  rangeSize,
  readLogs,
  shrinkAfter,
  type LogQuery,
  type RangeSize,
} from "./logs.ts";
import { backoffMs, sleepUnlessEnded } from "./backoff.ts";
import { createStallWatch, STALL_MS, STALLED } from "./stall.ts";

/** Logger for failures that an adapter survived; pino fits. */
export interface Logger {
  info(data: object, message: string): void;
  warn(data: object, message: string): void;
}

export interface FollowOptions {
  /** Blocks on top of a delivered block, itself not counted; 0 delivers the newest block. */
  readonly finalityDepth: number;
  readonly pollIntervalMs: number;
  readonly logger: Logger | undefined;
}

interface FollowState {
  next: bigint;
  /** Ends of the latest batches, oldest first; after a reorganisation following returns to one of them. */
  trail: Cursor[];
  /** Contents of delivered logs since the start of the trail. */
  readonly delivered: Map<string, bigint>;
  readonly size: RangeSize;
}

interface Watchers {
  readonly watchHead: (head: bigint) => void;
  readonly onTrouble: ((error: Error) => void) | undefined;
}

const MAX_TRAIL = 128;
const MAX_REMEMBERED_LOGS = 10_000;
/** Blocks below the head that a node may lack which others behind the same URL have. */
export const RECENT_BLOCKS = 64;
/** Recent blocks that are read at once, each by a call of its own. */
const RECENT_AT_ONCE = 16n;

/**
 * Implements `ChainReader.follow`. Resolves when the signal aborts; rejects with CHAIN_REORGED or CHAIN_WRONG_ID, or
 * with what `onBatch` throws.
 */
export async function follow(
  connection: Connection,
  options: FollowOptions,
  [from, onBatch, signal, onTrouble]: Parameters<ChainReader["follow"]>,
): Promise<void> {
  const progress: FollowState = {
    next: from === null ? connection.deploymentBlock : from.blockNumber + 1n,
    trail: from === null ? [] : [from],
    delivered: new Map(),
    size: rangeSize(RANGE_OF_ALL),
  };
  const watchHead = createStallWatch(() => options.logger?.warn({ seconds: STALL_MS / 1000 }, STALLED));
  let failures = 0;
  while (!signal.aborted) {
    let batch: EventBatch | null;
    try {
      if (failures > 0) await connection.check(signal);
      batch = await nextBatch(connection, options, progress, signal, { watchHead, onTrouble });
      if (failures > 0) options.logger?.info({ failures }, "the RPC node answers again");
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ConclaveError) || error.code === "CHAIN_REORGED" || error.code === "CHAIN_WRONG_ID")
        throw error;
      if (shrinkAfter(error, progress.size)) continue;
      if (failures === 0) onTrouble?.(error);
      await sleepUnlessEnded(backoffMs(failures), signal);
      failures += 1;
      continue;
    }
    if (batch === null) await sleepUnlessEnded(options.pollIntervalMs, signal);
    else await onBatch(batch);
  }
}

/** Reads the next batch of final blocks; null if there is no new block or the chain changed meanwhile. */
async function nextBatch(
  connection: Connection,
  options: FollowOptions,
  progress: FollowState,
  signal: AbortSignal,
  { watchHead, onTrouble }: Watchers,
): Promise<EventBatch | null> {
  const { oracle } = connection.domain;
  return connection.call(
    "Follow the chain",
    signal,
    async (client) => {
      const head = await client.getBlockNumber();
      watchHead(head);
      const final = head - BigInt(options.finalityDepth);
      if (final < progress.next) {
        requireNotBehind(head, progress.trail.at(-1));
        await rewindIfReorged(client, progress, onTrouble);
        return null;
      }
      const to = endOfRange(progress.next, final, progress.size);
      const query = { address: [oracle, connection.registry] };
      const read = await readUpTo(client, query, progress.next, to, head);
      if (read === null || (await rewindIfReorged(client, progress, onTrouble))) return null;
      const { cursor, logs } = read;
      const events = freshEvents(connection, options, progress, logs);
      const from = progress.next;
      advance(progress, cursor, logs);
      return { events, from, cursor };
    },
    0,
  );
}

interface Read {
  /** The last block that was read. */
  readonly cursor: Cursor;
  readonly logs: readonly MinedLog[];
}

/**
 * Reads the logs of the blocks from `next` on, up to `to` at most; null if a block is not there, or the chain changed meanwhile.
 *
 * Behind one URL there may be several nodes. One that lacks the newest blocks leaves their logs out of a range and says nothing of
 * it, so recent blocks are read by their hashes, which such a node refuses (EIP-234).
 */
async function readUpTo(client: Client, query: LogQuery, next: bigint, to: bigint, head: bigint): Promise<Read | null> {
  const old = head - BigInt(RECENT_BLOCKS);
  if (next <= old) {
    const end = to < old ? to : old;
    const before = await hashOf(client, end);
    const logs = await readLogs(client, query, { fromBlock: next, toBlock: end });
    if (before === null || before !== (await hashOf(client, end))) return null;
    return { cursor: { blockNumber: end, blockHash: before }, logs };
  }
  const last = next + RECENT_AT_ONCE - 1n;
  const end = to < last ? to : last;
  const numbers = Array.from({ length: Number(end - next) + 1 }, (_, index) => next + BigInt(index));
  const blocks = await Promise.all(numbers.map((blockNumber) => blockAt(client, blockNumber)));
  const found = blocks.filter((block) => block !== null);
  const isChain = found.every(({ parentHash }, index) => index === 0 || parentHash === found[index - 1]?.hash);
  const blockHash = found.at(-1)?.hash;
  if (blockHash === undefined || found.length < blocks.length || !isChain) return null;
  const logs = await Promise.all(found.map(({ hash }) => readLogs(client, query, { blockHash: hash })));
  return { cursor: { blockNumber: end, blockHash }, logs: logs.flat() };
}

function freshEvents(
  connection: Connection,
  options: FollowOptions,
  progress: FollowState,
  logs: readonly MinedLog[],
): readonly ChainEvent[] {
  const events: ChainEvent[] = [];
  for (const log of logs) {
    if (progress.delivered.has(contentOf(log))) continue;
    const decoded = decodeLog(log, connection.domain.oracle, connection.registry);
    if (decoded.kind === "event") events.push(decoded.event);
    if (decoded.kind !== "skipped") continue;
    const { transactionHash, logIndex } = log;
    options.logger?.warn({ transactionHash, logIndex, reason: decoded.reason }, "skipped an event that cannot be used");
  }
  return events;
}

function advance(progress: FollowState, cursor: Cursor, logs: readonly MinedLog[]): void {
  progress.next = cursor.blockNumber + 1n;
  progress.trail = [...progress.trail, cursor].slice(-MAX_TRAIL);
  grow(progress.size);
  for (const log of logs) progress.delivered.set(contentOf(log), log.blockNumber);
  const oldest = progress.trail[0]?.blockNumber ?? 0n;
  for (const [content, blockNumber] of progress.delivered) {
    if (blockNumber >= oldest && progress.delivered.size <= MAX_REMEMBERED_LOGS) break;
    progress.delivered.delete(content);
  }
}

/**
 * Rewinds after a reorganisation deeper than the finality depth. What was delivered cannot be taken back, so the
 * operator is told, and following goes on from the latest block that both chains share: it delivers new events, and
 * equal ones not again.
 */
async function rewindIfReorged(
  client: Client,
  progress: FollowState,
  onTrouble: ((error: Error) => void) | undefined,
): Promise<boolean> {
  const last = progress.trail.at(-1);
  if (last === undefined) return false;
  const current = await hashOf(client, last.blockNumber);
  if (current === last.blockHash) return false;
  // Another node behind the same URL may not have the block yet: ask again later.
  if (current === null) return true;
  for (let index = progress.trail.length - 2; index >= 0; index -= 1) {
    const ancestor = progress.trail[index];
    if (ancestor === undefined || (await hashOf(client, ancestor.blockNumber)) !== ancestor.blockHash) continue;
    progress.trail = progress.trail.slice(0, index + 1);
    progress.next = ancestor.blockNumber + 1n;
    onTrouble?.(reorged(last, `following goes on after block ${ancestor.blockNumber}; raise the finality depth`));
    return true;
  }
  throw reorged(
    last,
    "start from an earlier block: delete the stored cursor, or raise the finality depth if this is a public chain",
  );
}

/** Throws if the chain stays shorter than what was processed: it was reset, or the node has to catch up. */
function requireNotBehind(head: bigint, last: Cursor | undefined): void {
  if (last === undefined || head >= last.blockNumber) return;
  throw new ConclaveError(
    "CHAIN_UNREACHABLE",
    `Follow the chain: the node is at block ${head}, before the processed block ${last.blockNumber}; let it catch up, or delete the stored cursor if the chain was reset`,
    { head: String(head), blockNumber: String(last.blockNumber) },
  );
}

function reorged(last: Cursor, wayOut: string): ConclaveError {
  return new ConclaveError(
    "CHAIN_REORGED",
    `Follow the chain: block ${last.blockNumber} (${last.blockHash}), already processed, is no longer part of it; ${wayOut}`,
    { blockNumber: String(last.blockNumber), blockHash: last.blockHash },
  );
}

/** Returns the block's hash; null if the node does not have the block. */
export async function hashOf(client: Client, blockNumber: bigint): Promise<Hex | null> {
  return (await blockAt(client, blockNumber))?.hash ?? null;
}

interface Block {
  readonly hash: Hex;
  readonly parentHash: Hex;
}

async function blockAt(client: Client, blockNumber: bigint): Promise<Block | null> {
  const block = await client.request({
    method: "eth_getBlockByNumber",
    params: [numberToHex(blockNumber), false],
  });
  return block === null || block.hash === null ? null : { hash: block.hash, parentHash: block.parentHash };
}

/** Names a log's content, which is equal if the same transaction emitted the same log in any block. */
function contentOf(log: MinedLog): string {
  return [log.transactionHash, log.address, ...log.topics, log.data].join(":");
}
