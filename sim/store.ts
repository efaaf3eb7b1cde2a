import { sha256 } from "../agents/core/encoding/bytes.ts";
import { ConclaveError } from "../agents/core/errors.ts";
import type { Digest, SeatIndex } from "../agents/core/types.ts";
import type { Clock } from "../agents/ports/clock.ts";
import type { ContentStore } from "../agents/ports/content-store.ts";

/** Blocks of all seats: a running seat offers what it holds to every seat that can reach it. */
export interface SharedBlocks {
  readonly holders: Map<SeatIndex, ReadonlyMap<Digest, Uint8Array>>;
  readonly reaches: (from: SeatIndex, to: SeatIndex) => boolean;
  readonly latencyMs: () => number;
}

const RETRY_MS = 100;
const TIMEOUT_MS = 2_000;

/**
 * Returns own blocks at once and others' after a while on the virtual clock; fails if no holder can be reached in
 * time.
 */
export function createSimStore(
  shared: SharedBlocks,
  clock: Clock,
  seat: SeatIndex,
  blocks: Map<Digest, Uint8Array>,
): ContentStore {
  const pins = new Set<Digest>();

  const fromPeers = (digest: Digest): Uint8Array | null => {
    for (const [other, held] of shared.holders) {
      const bytes = held.get(digest);
      if (bytes === undefined || !shared.reaches(other, seat)) continue;
      blocks.set(digest, bytes);
      return bytes;
    }
    return null;
  };

  const fetch = (digest: Digest, signal: AbortSignal | undefined): Promise<Uint8Array> => {
    const until = clock.now() + TIMEOUT_MS;
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const bytes = signal?.aborted === true ? null : (blocks.get(digest) ?? fromPeers(digest));
        if (bytes !== null) resolve(bytes);
        else if (clock.now() >= until || signal?.aborted === true)
          reject(new ConclaveError("BLOCK_MISSING", `Connect a seat that holds block ${digest}`, { digest }));
        else clock.schedule(RETRY_MS, look);
      };
      clock.schedule(shared.latencyMs(), look);
    });
  };

  return {
    async put(bytes) {
      const digest = sha256(bytes);
      blocks.set(digest, bytes);
      return digest;
    },
    async get(digest, signal) {
      return blocks.get(digest) ?? fetch(digest, signal);
    },
    has: async (digest) => blocks.has(digest),
    pin: async (root) => void pins.add(root),
    isPinned: async (root) => pins.has(root),
    async close() {},
  };
}
