import { agentRegistryAbi, decisionOracleAbi, settlementAbi, slasherAbi } from "@conclave/contracts/abi";
import { parseEventLogs, type Log, type PublicClient } from "viem";
import type { Deployed } from "../../scripts/subgraph/manifest.ts";

const ABI = [...agentRegistryAbi, ...decisionOracleAbi, ...settlementAbi, ...slasherAbi];

/** Blocks read at once, because viem cannot take the answer for all of a long chain. */
const RANGE = 2_000n;

export type DecodedLog = ReturnType<typeof decodeLogs>[number];

function decodeLogs(logs: Log<bigint, number, false>[]) {
  return parseEventLogs({ abi: ABI, logs, strict: true });
}

/** Reads all events, up to a block, of the contracts that the subgraph follows. */
export async function readLogs(
  client: PublicClient,
  deployed: Deployed,
  toBlock: bigint,
): Promise<readonly DecodedLog[]> {
  const { registry, oracle, settlement, slasher, deploymentBlock } = deployed;
  const address = [registry, oracle, settlement, slasher];
  const found: DecodedLog[] = [];
  for (let from = BigInt(deploymentBlock); from <= toBlock; from += RANGE) {
    const end = from + RANGE - 1n;
    const logs = await client.getLogs({ address, fromBlock: from, toBlock: end < toBlock ? end : toBlock });
    found.push(...decodeLogs(logs));
  }
  return found;
}
