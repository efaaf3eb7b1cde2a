import { awaitedOf, isWaiting, type Progress } from "../../core/request/progress.ts";
import type { ChainEvent } from "../../core/request/events.ts";
import type { RequestId } from "../../core/types.ts";
import type { ChainReader, Cursor } from "../../ports/chain.ts";
import type { EventBlocks } from "../cursor.ts";

/** Where on the chain the events of open requests lie, so that a restart finds those that have waited (SE25). */
export interface Trails {
  /** Notes an event of the request, and its progress after it. */
  see(requestId: RequestId, event: ChainEvent, progress: Progress): void;
  /** Returns the open requests that have waited, and forgets all that are not open. */
  waited(open: readonly RequestId[]): ReadonlyMap<RequestId, EventBlocks>;
}

interface Trail {
  readonly blocks: bigint[];
  hasWaited: boolean;
}

export function createTrails(): Trails {
  const trails = new Map<RequestId, Trail>();
  return {
    see(requestId, { kind, blockNumber }, progress) {
      const before = kind === "requested" ? undefined : trails.get(requestId);
      const trail = before ?? { blocks: [], hasWaited: false };
      const awaited = awaitedOf(progress);
      trail.blocks.push(blockNumber);
      if (awaited !== null && isWaiting(awaited)) trail.hasWaited = true;
      trails.set(requestId, trail);
    },
    waited(open) {
      const isOpen = new Set(open);
      for (const requestId of trails.keys()) if (!isOpen.has(requestId)) trails.delete(requestId);
      const waited = [...trails].filter(([, { hasWaited }]) => hasWaited);
      return new Map(waited.map(([requestId, { blocks }]) => [requestId, blocks]));
    },
  };
}

/**
 * Returns the events of a request up to the position. Reads its blocks alone, or, where a reorganization has moved an
 * event, all of the chain. Throws REQUEST_UNKNOWN if the chain has no such request any more.
 */
export async function eventsUpTo(
  chain: Pick<ChainReader, "eventsIn" | "requestEvents">,
  requestId: RequestId,
  blocks: EventBlocks,
  position: Cursor,
  signal: AbortSignal,
): Promise<readonly ChainEvent[]> {
  const found = await chain.eventsIn(requestId, blocks, signal);
  if (found.length === blocks.length) return found;
  const all = await chain.requestEvents(requestId, signal);
  return all.filter(({ blockNumber }) => blockNumber <= position.blockNumber);
}
