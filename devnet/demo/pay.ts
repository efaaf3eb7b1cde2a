// The end of every request: its escrow is distributed, and each operator can claim rewards.
import { parseAbi, type LocalAccount } from "viem";
import { createChainWriter } from "../../agents/adapters/chain/writer.ts";
import type { Address, AgentId, RequestId } from "../../agents/core/types.ts";
import type { ChainReader } from "../../agents/ports/chain.ts";
import { progressOf, roundsOf } from "../../agents/core/request/progress.ts";
import type { Deployment } from "../../scripts/deploy/settings.ts";
import { clientsOf } from "../world/clients.ts";

const abi = parseAbi(["function rewardsOf(uint32 agentId, address account, uint8 currency) view returns (uint256)"]);
const TOKEN = 0;

export interface Payer {
  /** Settles a final request, unless an agent's keeper was faster. */
  settle(requestId: RequestId, signal: AbortSignal): Promise<void>;
  /** Rewards in tokens. */
  rewardsOf(agentId: AgentId, account: Address): Promise<bigint>;
}

export async function openPayer(
  rpcUrl: string,
  { chainId, oracle, registry }: Deployment,
  reader: ChainReader,
  account: LocalAccount,
): Promise<Payer> {
  const writer = await createChainWriter({ rpcUrl, chainId, oracle, registry, account, receiptPollMs: 100 });
  const { reader: client } = clientsOf(rpcUrl, chainId, account);
  return {
    async settle(requestId, signal) {
      const progress = progressOf(await reader.requestEvents(requestId, signal));
      const rounds = progress === null ? null : roundsOf(progress);
      if (progress === null || rounds === null) throw new Error(`Settle request ${requestId}: it has no decision`);
      await writer.settle(progress.request, rounds, signal);
    },
    rewardsOf: (agentId, operator) =>
      client.readContract({ address: registry, abi, functionName: "rewardsOf", args: [agentId, operator, TOKEN] }),
  };
}
