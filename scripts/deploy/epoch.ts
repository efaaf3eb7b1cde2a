// The length of an epoch, which bounds how long a committee can answer (docs/adr/016).
import type { PublicClient } from "viem";

import { LOCAL_CHAINS } from "../../agents/adapters/chain/beacon.ts";
import { readServedHashes } from "../../agents/adapters/chain/committee.ts";
import { limits } from "../../agents/core/limits.ts";
import { usage } from "./price-options.ts";

/** As in contracts/types/Limits.sol. */
const MIN_EPOCH_BLOCKS = 25;
const MAX_EPOCH_BLOCKS = 7_200;
const DRAW_BLOCKS = 16;

/** On a local chain blocks come with transactions, so agents would wait too long for the next epoch. */
const LOCAL_EPOCH_BLOCKS = 64;
/** Number of blocks that show how long one takes. */
const SAMPLE_BLOCKS = 1_000n;

/**
 * Reads `--epoch-blocks`. A seed can be proven to the end of the next epoch, while the chain serves its block's hash.
 * That is DRAW_BLOCKS and an epoch at least. Off local chains it must be no shorter than the shortest period of a
 * request. Otherwise honest seats come too late, and whoever asked draws again for nothing (docs/adr/011).
 * Throws USAGE.
 */
export async function readEpochBlocks(
  flag: string | undefined,
  client: PublicClient,
  chainId: number,
): Promise<number> {
  const isLocal = LOCAL_CHAINS.includes(chainId);
  const blocks = flag === undefined ? (isLocal ? LOCAL_EPOCH_BLOCKS : MAX_EPOCH_BLOCKS) : Number(flag);
  if (!Number.isInteger(blocks) || blocks < MIN_EPOCH_BLOCKS || blocks > MAX_EPOCH_BLOCKS)
    throw usage("--epoch-blocks", `is a whole number from ${MIN_EPOCH_BLOCKS} to ${MAX_EPOCH_BLOCKS}`);
  if (isLocal) return blocks;
  const seconds = await secondsOfABlock(client);
  const needed = Math.ceil(limits.minDurationSeconds / seconds);
  const why = `a block takes ${seconds.toFixed(1)} seconds, and a committee must have the ${limits.minDurationSeconds / 60} minutes of the shortest request`;
  const hashes = await readServedHashes(client);
  if (needed > hashes)
    throw usage(
      "--network",
      `names a chain that serves the hashes of its latest ${hashes} blocks alone, but committees need ${needed}: ${why}; choose another chain, such as one with EIP-2935`,
    );
  const least = needed - DRAW_BLOCKS;
  if (blocks >= least) return blocks;
  const rule = `is at least ${least} on this chain: ${why}`;
  throw usage(
    "--epoch-blocks",
    least > MAX_EPOCH_BLOCKS ? `${rule}; no epoch is that long, so choose another chain` : rule,
  );
}

async function secondsOfABlock(client: PublicClient): Promise<number> {
  const latest = await client.getBlock();
  const number = latest.number > SAMPLE_BLOCKS ? latest.number - SAMPLE_BLOCKS : 0n;
  const before = await client.getBlock({ blockNumber: number });
  return Number(latest.timestamp - before.timestamp) / Number(latest.number - number);
}
