import { formatLog, numberToHex, type Hex } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import type { Client, Connection } from "./connection.ts";
import type { MinedLog } from "./decode.ts";

export interface LogQuery {
  readonly address: readonly Address[];
  /** Topics, the event's signature first; any of a list matches, and null matches anything. */
  readonly topics?: readonly (Hex | Hex[] | null)[];
}

/** Blocks of one call for all logs of a contract. */
export const RANGE_OF_ALL = 2_000n;
/** Blocks of one call for the few logs that have a topic: many nodes bound the logs of a call, and the others refuse at once. */
export const RANGE_OF_FEW = 1_000_000n;

/** Range of blocks that the node accepts: it halves after a refusal and grows slowly after a success. */
export interface RangeSize {
  current: bigint;
  readonly maximum: bigint;
}

export function rangeSize(maximum: bigint): RangeSize {
  return { current: maximum, maximum };
}

/** A range of blocks, or one block, of which a node that lacks it says so. */
export type LogPlace = { readonly fromBlock: bigint; readonly toBlock: bigint } | { readonly blockHash: Hex };

/** Reads the logs of one place in chain order, with one RPC call. */
export async function readLogs(client: Client, query: LogQuery, place: LogPlace): Promise<readonly MinedLog[]> {
  const blocks =
    "blockHash" in place ? place : { fromBlock: numberToHex(place.fromBlock), toBlock: numberToHex(place.toBlock) };
  const logs = await client.request({
    method: "eth_getLogs",
    params: [
      {
        address: [...query.address],
        topics: query.topics === undefined ? [] : [...query.topics],
        ...blocks,
      },
    ],
  });
  return logs
    .map((log) => formatLog(log))
    .filter((log): log is MinedLog => log.blockNumber !== null && log.logIndex !== null)
    .toSorted((left, right) => Number(left.blockNumber - right.blockNumber) || left.logIndex - right.logIndex);
}

/** Reads all logs of a range of any length, in bounded calls. */
export async function scanLogs(
  connection: Connection,
  query: LogQuery,
  range: { readonly from: bigint; readonly to: bigint; readonly size: RangeSize },
  signal?: AbortSignal,
): Promise<readonly MinedLog[]> {
  const found: MinedLog[] = [];
  let from = range.from;
  while (from <= range.to) {
    const to = endOfRange(from, range.to, range.size);
    try {
      found.push(
        ...(await connection.call(
          "Read event logs",
          signal,
          (client) => readLogs(client, query, { fromBlock: from, toBlock: to }),
          // What is refused for its length is not asked again as it is.
          to - from < RANGE_OF_ALL ? undefined : 0,
        )),
      );
    } catch (error) {
      signal?.throwIfAborted();
      if (!shrinkAfter(error, range.size)) throw error;
      continue;
    }
    grow(range.size);
    from = to + 1n;
  }
  return found;
}

export function endOfRange(from: bigint, last: bigint, size: RangeSize): bigint {
  const end = from + size.current - 1n;
  return end < last ? end : last;
}

/** Halves the range if the node refused it, perhaps for its length; false if a shorter range cannot help. */
export function shrinkAfter(error: unknown, size: RangeSize): boolean {
  const kind = error instanceof ConclaveError ? error.data["kind"] : undefined;
  if ((kind !== "refused" && kind !== "overloaded") || size.current === 1n) return false;
  size.current /= 2n;
  return true;
}

/** Grows by an eighth, so that few calls ask for a length that was refused before. */
export function grow(size: RangeSize): void {
  const next = size.current + size.current / 8n + 1n;
  size.current = next < size.maximum ? next : size.maximum;
}
