import { awaitedOf, isWaiting, type Progress } from "../../core/request/progress.ts";
import type { ChainEvent } from "../../core/request/events.ts";
import type { RequestId } from "../../core/types.ts";
import type { ChainReader } from "../../ports/chain.ts";
import type { EventBlocks } from "../cursor.ts";

/**
 * Where on the chain the events of requests lie: a restart finds those that have waited (SE25), and a reorganization those whose events it
 * replaced (SE28).
 */
export interface Trails {
  /** Notes an event of the request, and its progress after it. */
  see(requestId: RequestId, event: ChainEvent, progress: Progress): void;
  /** Returns the open requests that have waited, and forgets those that are not open and whose events all lie at least `RECENT_BLOCKS` before the block. */
  waited(open: readonly RequestId[], block: bigint): ReadonlyMap<RequestId, EventBlocks>;
  /** Returns the requests that have events in this block or later: `asked` were asked there, `changed` before, with the blocks of their earlier events. */
  since(block: bigint): {
    readonly asked: readonly RequestId[];
    readonly changed: ReadonlyMap<RequestId, EventBlocks>;
  };
  forget(requestId: RequestId): void;
}

/** A reorganization that replaces more blocks is not undone for requests that have ended: some 51 minutes of twelve-second blocks. */
const RECENT_BLOCKS = 256n;

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
    waited(open, block) {
      const isOpen = new Set(open);
      for (const [requestId, { blocks }] of trails)
        if (!isOpen.has(requestId) && (blocks.at(-1) as bigint) + RECENT_BLOCKS <= block) trails.delete(requestId);
      const waited = [...trails].filter(([requestId, { hasWaited }]) => hasWaited && isOpen.has(requestId));
      return new Map(waited.map(([requestId, { blocks }]) => [requestId, blocks]));
    },
    since(block) {
      const asked: RequestId[] = [];
      const changed = new Map<RequestId, EventBlocks>();
      for (const [requestId, { blocks }] of trails) {
        const before = blocks.filter((one) => one < block);
        if (before.length === 0) asked.push(requestId);
        else if (before.length < blocks.length) changed.set(requestId, before);
      }
      return { asked, changed };
    },
    forget: (requestId) => void trails.delete(requestId),
  };
}

/**
 * Returns the events of a request up to the last block. Reads its blocks alone, or, where a reorganization has moved an
 * event, all of the chain. Throws REQUEST_UNKNOWN if the chain has no such request any more.
 */
export async function eventsUpTo(
  chain: Pick<ChainReader, "eventsIn" | "requestEvents">,
  requestId: RequestId,
  blocks: EventBlocks,
  last: bigint,
  signal: AbortSignal,
): Promise<readonly ChainEvent[]> {
  const found = await chain.eventsIn(requestId, blocks, signal);
  if (found.length === blocks.length) return found;
  const all = await chain.requestEvents(requestId, signal);
  return all.filter(({ blockNumber }) => blockNumber <= last);
}
