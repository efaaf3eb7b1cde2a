import { cidString } from "../../core/encoding/cid.ts";
import type { Hex } from "../../core/types.ts";
import type { ChainEvent } from "../../core/request/events.ts";
import { progressOf, lastRound } from "../../core/request/progress.ts";
import type { PageWanted, PastRequest, HistoryFilter, RequestPage } from "../../ports/history.ts";
import { ConclaveError } from "../../core/errors.ts";
import { connect, type Connection } from "./connection.ts";
import { decodeLog, type MinedLog } from "./decode.ts";
import { RANGE_OF_ALL, rangeSize, scanLogs, type LogQuery } from "./logs.ts";
import { readRequestState, type ReaderOptions } from "./reader.ts";

/** History from the events of the last blocks, without a subgraph. */
export interface RecentHistory {
  /** Returns requests that were asked in the window, the newest first. Throws USAGE for a cursor of another source. */
  requests(filter: HistoryFilter, page: PageWanted, window: Window): Promise<RecentPage>;
}

export interface Window {
  readonly blocks: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
}

export interface RecentPage extends RequestPage {
  readonly fromBlock: number;
  readonly toBlock: number;
}

interface EventPlace {
  readonly block: bigint;
  readonly logIndex: number;
}

type Asked = Extract<ChainEvent, { kind: "requested" }>;

const CURSOR = /^e-(\d{1,15})-(\d{1,9})$/;
/** Most events read at once, so that the memory is bounded whatever the node sends. */
const MAX_EVENTS = 200_000;

/** Opens the history. Throws CHAIN_UNREACHABLE, CHAIN_WRONG_ID or CHAIN_NO_CONTRACT. */
export async function openRecentHistory(options: ReaderOptions, signal?: AbortSignal): Promise<RecentHistory> {
  return recentHistoryOf(await connect(options, signal));
}

export function recentHistoryOf(connection: Connection): RecentHistory {
  return {
    async requests(filter, { limit, cursor }, window) {
      const before = cursor === null ? null : placeOf(cursor);
      const { oracle } = connection.domain;
      const {
        from,
        to,
        found: events,
      } = await readWindow(connection, { address: [oracle] }, RANGE_OF_ALL, window, (log) => {
        const decoded = decodeLog(log, oracle, connection.registry);
        return decoded.kind === "event" ? decoded.event : null;
      });
      const found: { readonly request: PastRequest; readonly place: EventPlace }[] = [];
      for (const own of newestFirst(events, before)) {
        // One request more than fits shows that there is another page.
        if (found.length > limit) break;
        if (!mayFit(own, filter)) continue;
        const time = await timeOf(connection, own[0].blockNumber, window.signal);
        if (filter.since !== null && time < filter.since) break;
        if (filter.until !== null && time > filter.until) continue;
        const request = await pastRequest(connection, own, time, window.signal);
        if (request === null || filter.statuses?.includes(request.status) === false) continue;
        found.push({ request, place: { block: own[0].blockNumber, logIndex: own[0].logIndex } });
      }
      const shown = found.slice(0, limit);
      const last = shown.at(-1)?.place;
      return {
        requests: shown.map(({ request }) => request),
        next: found.length > limit && last !== undefined ? `e-${last.block}-${last.logIndex}` : null,
        fromBlock: Number(from),
        toBlock: Number(to),
      };
    },
  };
}

/** Reads a block's hash, to compare a subgraph with the chain; null if the node has no such block. */
export async function readBlockHash(
  options: ReaderOptions,
  block: number,
  signal: AbortSignal,
): Promise<{ readonly head: number; readonly hash: Hex | null }> {
  const connection = await connect(options, signal);
  return connection.call(`Read block ${block}`, signal, async (client) => {
    const head = await client.getBlockNumber();
    const found = await client.request({
      method: "eth_getBlockByNumber",
      params: [`0x${block.toString(16)}`, false],
    });
    return { head: Number(head), hash: found?.hash ?? null };
  });
}

function placeOf(cursor: string): EventPlace {
  const [, block, logIndex] = CURSOR.exec(cursor) ?? [];
  if (block !== undefined) return { block: BigInt(block), logIndex: Number(logIndex) };
  throw new ConclaveError(
    "USAGE",
    "Read the cursor: this is an unknown cursor; give the one that the page before named",
    { field: "cursor", cursor },
  );
}

/**
 * Reads the logs of the window and decodes them, in chain order; what decodes to null is left out. Throws USAGE if they are more than
 * fit into memory.
 */
export async function readWindow<T>(
  connection: Connection,
  query: LogQuery,
  maximum: bigint,
  { blocks, signal, onProgress }: Window,
  decode: (log: MinedLog) => T | null,
): Promise<{ readonly from: bigint; readonly to: bigint; readonly found: readonly T[] }> {
  const to = await connection.call("Read the newest block", signal, (client) => client.getBlockNumber());
  const first = to - BigInt(blocks) + 1n;
  const from = first > connection.deploymentBlock ? first : connection.deploymentBlock;
  const size = rangeSize(maximum);
  const found: T[] = [];
  for (let next = from; next <= to; next += maximum) {
    const end = next + maximum - 1n < to ? next + maximum - 1n : to;
    for (const log of await scanLogs(connection, query, { from: next, to: end, size }, signal)) {
      const decoded = decode(log);
      if (decoded !== null) found.push(decoded);
    }
    if (found.length > MAX_EVENTS) throw tooMany(blocks);
    onProgress?.(Number(end - from) + 1, Number(to - from) + 1);
  }
  return { from, to, found };
}

function tooMany(blocks: number): ConclaveError {
  return new ConclaveError(
    "USAGE",
    `Read the events of ${blocks} blocks: they are more than ${MAX_EVENTS}; give fewer --blocks, or ask a subgraph`,
    { blocks, maxEvents: MAX_EVENTS },
  );
}

/** Returns the events of each request that was asked in the window and before the place, the newest first. */
function newestFirst(
  events: readonly ChainEvent[],
  before: EventPlace | null,
): readonly (readonly [Asked, ...ChainEvent[]])[] {
  const byRequest = new Map<bigint, [Asked, ...ChainEvent[]]>();
  for (const event of events) {
    if (event.kind === "agentsChanged") continue;
    if (event.kind === "requested") byRequest.set(event.request.id, [event]);
    else byRequest.get(event.requestId)?.push(event);
  }
  const isBefore = ({ blockNumber, logIndex }: ChainEvent): boolean =>
    before === null || blockNumber < before.block || (blockNumber === before.block && logIndex < before.logIndex);
  return [...byRequest.values()].filter(([asked]) => isBefore(asked)).toReversed();
}

/** Returns the time of a block, in Unix seconds. */
export async function timeOf(connection: Connection, blockNumber: bigint, signal: AbortSignal): Promise<number> {
  const { timestamp } = await connection.call(`Read block ${blockNumber}`, signal, (client) =>
    client.getBlock({ blockNumber }),
  );
  return Number(timestamp);
}

/** Returns the request with its current state; null if the chain dropped it meanwhile. */
async function pastRequest(
  connection: Connection,
  events: readonly [Asked, ...ChainEvent[]],
  time: number,
  signal: AbortSignal,
): Promise<PastRequest | null> {
  const [{ request, transactionHash }] = events;
  const { id, consumer, terms, question } = request;
  const { status, attempt, provisional, settled } = await readRequestState(connection, id, signal);
  if (status === "none") return null;
  const { protocol, kind, currency, fee } = terms;
  return {
    requestId: id,
    time,
    transaction: transactionHash,
    consumer,
    protocol,
    kind,
    currency,
    fee,
    question,
    status,
    provisional,
    settled,
    attempt,
    decision: pastDecisionOf(events),
  };
}

/** Returns the standing decision, or the latest one. */
function pastDecisionOf(events: readonly ChainEvent[]): PastRequest["decision"] {
  const progress = progressOf(events);
  const round = progress === null ? undefined : (lastRound(progress) ?? progress.past.at(-1));
  if (round === undefined) return null;
  const { decision, committee, relay } = round;
  const { attempt, status, answer, confidence, transcript } = decision;
  const seats = committee.map(({ agentId }, seat) => ({ seat, agentId }));
  return {
    attempt,
    status,
    answer,
    confidence,
    transcript: cidString(transcript),
    signers: seats.filter(({ seat }) => (relay.signers >> BigInt(seat)) & 1n),
  };
}

/** True if the request may match the filter, as far as its events say. */
function mayFit(events: readonly [Asked, ...ChainEvent[]], { agentId, consumer, protocol }: HistoryFilter): boolean {
  const [{ request }] = events;
  if (consumer !== null && consumer !== request.consumer) return false;
  if (protocol !== null && protocol !== request.terms.protocol) return false;
  if (agentId === null) return true;
  return events.some(
    (event) => event.kind === "decisionCommitted" && event.committee.some((seat) => seat.agentId === agentId),
  );
}
