import type { Head, Progress } from "./progress.ts";
import { unpackRound } from "./rounds.ts";

/** When the seed of a running attempt can be proven no more, which may be before its deadline (SE8). */
export interface SeedEnd {
  /** The last block in which a decision of the attempt can be committed. */
  readonly block: bigint;
  /** Unix seconds, at the pace of the blocks since the attempt began; null while no block has come since. */
  readonly time: number | null;
}

/**
 * Estimates when an attempt with a committee ends by its seed.
 * @param began the block that called the attempt
 * @param block the last one in which its seed can be proven
 */
export function seedEndOf(
  { request, round }: Pick<Progress, "request" | "round">,
  began: bigint,
  block: bigint,
  head: Pick<Head, "number" | "timestamp">,
): SeedEnd {
  const blocks = head.number - began;
  if (blocks <= 0n) return { block, time: null };
  const seconds = head.timestamp - (unpackRound(round).deadline - request.terms.duration);
  return { block, time: head.timestamp + Math.round((Number(block - head.number) * seconds) / Number(blocks)) };
}
