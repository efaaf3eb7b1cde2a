import { agentRegistryAbi, decisionOracleAbi, settlementAbi, slasherAbi } from "conclave/abi";
import { parseEventLogs, type Log, type PublicClient } from "viem";
import type { Deployed } from "./manifest.ts";

const ABI = [...agentRegistryAbi, ...decisionOracleAbi, ...settlementAbi, ...slasherAbi];

export type DecodedLog = ReturnType<typeof decodeLogs>[number];

function decodeLogs(logs: Log<bigint, number, false>[]) {
  return parseEventLogs({ abi: ABI, logs, strict: true });
}

/** All events of the contracts that the subgraph follows, up to a block. */
export async function readLogs(
  client: PublicClient,
  deployed: Deployed,
  toBlock: bigint,
): Promise<readonly DecodedLog[]> {
  const { registry, oracle, settlement, slasher, deploymentBlock } = deployed;
  const address = [registry, oracle, settlement, slasher];
  return decodeLogs(await client.getLogs({ address, fromBlock: BigInt(deploymentBlock), toBlock }));
}
