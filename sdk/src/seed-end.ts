import type { PublicClient } from "viem";
import { lastHeadFor, readSeedWindow } from "../../agents/adapters/chain/committee.ts";
import { readHead } from "../../agents/adapters/chain/head.ts";
import { seedEndOf, type SeedEnd } from "../../agents/core/request/seed-end.ts";
import { connectionOf, type ConclaveDeployment } from "./connection.ts";
import type { RequestUpdate } from "./follow.ts";

/** Returns when the seed of the committee that deliberates can be proven no more; null if none deliberates. */
export async function readSeedEnd(
  publicClient: PublicClient,
  deployment: ConclaveDeployment,
  update: RequestUpdate,
  signal: AbortSignal,
): Promise<SeedEnd | null> {
  const { stage, blockNumber } = update;
  if (stage.kind !== "drawn") return null;
  const connection = connectionOf(publicClient, deployment);
  const [window, head] = await Promise.all([readSeedWindow(connection, signal), readHead(connection, signal)]);
  return seedEndOf(update, blockNumber, lastHeadFor(stage.seedBlock, window), head);
}
