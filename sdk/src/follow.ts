import { sleep } from "../../agents/adapters/chain/backoff.ts";
import { readCommittee } from "../../agents/adapters/chain/committee.ts";
import type { Connection } from "../../agents/adapters/chain/connection.ts";
import { hashOf } from "../../agents/adapters/chain/follow.ts";
import { RANGE_OF_FEW, rangeSize } from "../../agents/adapters/chain/logs.ts";
import { readHead } from "../../agents/adapters/chain/head.ts";
import { readEventsOf } from "../../agents/adapters/chain/reader.ts";
import { ConclaveError as CoreError } from "../../agents/core/errors.ts";
import type { ChainEvent } from "../../agents/core/request/events.ts";
import {
  applyEvent,
  awaitedOf,
  isFinal,
  isWaiting,
  withCommittee,
  type Progress,
} from "../../agents/core/request/progress.ts";
import { unpackRound } from "../../agents/core/request/rounds.ts";
import type { Hex, RequestId } from "../../agents/core/types.ts";
import type { Receipt } from "../../agents/ports/chain.ts";

/** Where a request stands, and how long. */
export interface RequestProgress extends Progress {
  /** True if the request waits and has no committee, because its terms name a delay, or because the committee before was too early. */
  readonly isWaiting: boolean;
  /** Unix seconds: the end of the running period, or of the wait. */
  readonly deadline: number;
}

/** Where a request stands, and how to go on from here. */
export interface RequestUpdate extends RequestProgress {
  /** The block of the question. */
  readonly askedBlock: bigint;
  /** The block that brought this state. */
  readonly blockNumber: bigint;
  /** Hand this to `follow` as `from`, e.g. after the page was loaded again: what was seen does not come again. */
  readonly cursor: string;
}

export interface FollowOptions {
  /** The cursor of the last update that was seen, or of the answer of `ask`. Without it the search begins at the deployment. */
  readonly from?: string;
  /** Time between two looks at the chain; the polling interval of the client if absent. */
  readonly pollIntervalMs?: number;
  readonly signal?: AbortSignal;
}

/** A place in the chain: what was seen of a request that was asked in the first block. */
interface Place {
  readonly asked: bigint;
  readonly block: bigint;
  /** The first digits of the block's hash. */
  readonly hash: string;
  /** Number of updates up to here. */
  readonly seen: number;
}

/** Depth below which no reorganisation is expected. */
const DEEP_BLOCKS = 64n;
/** The chain counts as a shorter one after so many looks in a row at which no node has the block of the last state. */
const MISSING_LOOKS = 10;
const CURSOR = /^f-(\d{1,15})-(\d{1,15})-([0-9a-f]{8})-(\d{1,4})$/;

/**
 * Yields every state of a request, the oldest first, until it is final. After a reorganisation the states come again
 * from the one that differs. Rejects with REQUEST_UNKNOWN, USAGE for a foreign cursor, or CHAIN_UNREACHABLE.
 */
export async function* followRequest(
  connection: Connection,
  requestId: RequestId,
  { from, signal }: Omit<FollowOptions, "pollIntervalMs">,
  pollIntervalMs: number,
): AsyncGenerator<RequestUpdate, void, void> {
  const start = from === undefined ? null : placeOf(from);
  let kept: readonly ChainEvent[] = [];
  let next = start?.asked ?? connection.deploymentBlock;
  let last = start;
  const isTakenBack = createTakeBack(connection, signal);
  const size = rangeSize(RANGE_OF_FEW);
  for (;;) {
    const { number: head } = await readHead(connection, signal);
    const range = { from: next, to: head, size };
    const events = [...kept, ...(await readEventsOf(connection, requestId, range, signal))];
    const updates = updatesOf(events);
    const current = updates.at(-1);
    const lost = last === null || isAmong(updates, last) ? null : last;
    const isGone = lost !== null && (await isTakenBack(lost));
    // Another block holds the question: a reorganisation moved it, or the chain began anew, as local worlds do.
    if (isGone && current === undefined) {
      next = connection.deploymentBlock;
      last = null;
      continue;
    }
    if (current === undefined && !isAwaited(start, last, head)) throw unknown(requestId);
    if (lost !== null && !isGone) {
      await sleep(pollIntervalMs, signal);
      continue;
    }
    // What so many blocks have buried is not read again.
    if (head - DEEP_BLOCKS > next) {
      kept = events.filter(({ blockNumber }) => blockNumber <= head - DEEP_BLOCKS);
      next = head - DEEP_BLOCKS + 1n;
    }
    const isNew =
      current !== undefined && (seenOf(updates, last) < updates.length || current.place.seen === last?.seen);
    const drawn = isNew ? await draw(connection, current, head, signal) : null;
    const all = drawn === null ? updates : [...updates, drawn];
    for (const { progress, place } of all.slice(seenOf(all, last))) {
      last = place;
      yield toUpdate(progress, place);
    }
    if (current !== undefined && isFinal(current.progress)) return;
    await sleep(pollIntervalMs, signal);
  }
}

/**
 * Tells whether a request that was not found may still come: a node may be behind, and a reorganisation may bring it later. A chain that is
 * far from the block of the question is another one.
 */
function isAwaited(start: Place | null, last: Place | null, head: bigint): boolean {
  if (start === null || head > start.asked + DEEP_BLOCKS) return false;
  return last !== null || head >= start.asked - DEEP_BLOCKS;
}

/** The seed block is not ready or too old, or the node shows headers of another form. */
const NOT_NAMED: ReadonlySet<string> = new Set(["CHAIN_REVERTED", "CHAIN_HEADER_UNKNOWN"]);

interface Step {
  readonly progress: Progress;
  readonly place: Place;
}

/** Returns the states that the events of whole transactions bring: between two of them nothing is settled. */
function updatesOf(events: readonly ChainEvent[]): readonly Step[] {
  const steps: Step[] = [];
  let progress: Progress | null = null;
  for (const [index, event] of events.entries()) {
    const before: Progress | null = progress;
    progress = applyEvent(progress, event);
    if (progress === null || (progress === before && steps.length > 0)) continue;
    if (events[index + 1]?.transactionHash === event.transactionHash) continue;
    const { blockNumber, blockHash } = event;
    const asked = steps[0]?.place.asked ?? events[0]?.blockNumber ?? blockNumber;
    // The draw after a request is an update, too, whether it was seen or not.
    const previous = steps.at(-1);
    const seen = previous === undefined ? 1 : previous.place.seen + (awaitedOf(previous.progress) === null ? 1 : 2);
    steps.push({ progress, place: { asked, block: blockNumber, hash: digitsOf(blockHash), seen } });
  }
  return steps;
}

/** Returns the state with the committee of the running attempt; null while its seed block is not there, or if none is awaited. */
async function draw(
  connection: Connection,
  { progress, place }: Step,
  head: bigint,
  signal: AbortSignal | undefined,
): Promise<Step | null> {
  const awaited = awaitedOf(progress);
  if (awaited === null || head <= awaited.seedBlock) return null;
  try {
    const committee = await readCommittee(connection, progress.request, awaited, signal);
    return { progress: withCommittee(progress, committee), place: { ...place, seen: place.seen + 1 } };
  } catch (error) {
    // The chain names a committee for a while only; the decision names it, too.
    if (error instanceof CoreError && NOT_NAMED.has(error.code)) return null;
    throw error;
  }
}

/** Returns how many of the steps were seen, as far as they are still on the chain. */
function seenOf(steps: readonly Step[], last: Place | null): number {
  if (last === null) return 0;
  if (isAmong(steps, last)) return steps.filter(({ place }) => place.seen <= last.seen).length;
  const before = steps.filter(({ place }) => place.block < last.block).length;
  // What was seen is gone: the state is another one, even if nothing has happened since.
  return Math.max(0, Math.min(before, steps.length - 1));
}

function isAmong(steps: readonly Step[], last: Place): boolean {
  return steps.some(({ place }) => place.block === last.block && place.hash === last.hash);
}

/**
 * Tells whether the chain has taken back the last state, which is not among the events that were read. Behind one URL there may be
 * several nodes. One that lacks the newest blocks leaves their logs out and says nothing of it, so the block's hash decides.
 */
function createTakeBack(connection: Connection, signal: AbortSignal | undefined): (last: Place) => Promise<boolean> {
  let missing = 0;
  return async ({ block, hash }) => {
    const found = await connection.call(`Read block ${block}`, signal, (client) => hashOf(client, block));
    missing = found === null ? missing + 1 : 0;
    return found === null ? missing >= MISSING_LOOKS : digitsOf(found) !== hash;
  };
}

/** Returns the digits of a block's hash that a place keeps. */
function digitsOf(hash: Hex): string {
  return hash.slice(2, 10);
}

function toUpdate(progress: Progress, place: Place): RequestUpdate {
  const { asked, block, hash, seen } = place;
  return { ...timed(progress), askedBlock: asked, blockNumber: block, cursor: `f-${asked}-${block}-${hash}-${seen}` };
}

export function timed(progress: Progress): RequestProgress {
  const awaited = awaitedOf(progress);
  const { deadline } = unpackRound(progress.round);
  return { ...progress, isWaiting: awaited !== null && isWaiting(awaited), deadline };
}

/** Returns the cursor of a request that was just asked: all of it is still to come. */
export function cursorOfAsk({ blockNumber, blockHash }: Receipt): string {
  return `f-${blockNumber}-${blockNumber}-${digitsOf(blockHash)}-0`;
}

function placeOf(cursor: string): Place {
  const [, asked, block, hash, seen] = CURSOR.exec(cursor) ?? [];
  if (asked !== undefined && block !== undefined && hash !== undefined)
    return { asked: BigInt(asked), block: BigInt(block), hash, seen: Number(seen) };
  throw new CoreError("USAGE", `Follow the request: from = ${JSON.stringify(cursor)} is no cursor of an update`, {
    field: "from",
  });
}

function unknown(requestId: RequestId): CoreError {
  return new CoreError("REQUEST_UNKNOWN", `Follow request ${requestId}: the oracle has no request of that number`, {
    field: "requestId",
    requestId: String(requestId),
  });
}
