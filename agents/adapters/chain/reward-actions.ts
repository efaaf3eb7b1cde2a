import { encodeFunctionData, type Hex } from "viem";
import type { Address } from "../../core/types.ts";
import type { Receipt, RewardActions } from "../../ports/chain.ts";
import { agentRegistryAbi } from "@conclave/contracts/abi";
import { currencyCode } from "./encode.ts";

const call = { abi: agentRegistryAbi } as const;

export function createRewardActions(
  account: Address,
  toRegistry: (doing: string, data: Hex) => Promise<Receipt>,
): RewardActions {
  return {
    startEarning: (agentId) =>
      toRegistry(
        `Let the stake of ${account} behind agent ${agentId} earn`,
        encodeFunctionData({ ...call, functionName: "startEarning", args: [agentId, account] }),
      ),
    claimRewards: (agentId, currency, to) => {
      const args = [agentId, currencyCode(currency), to] as const;
      return toRegistry(
        `Claim the rewards of agent ${agentId}`,
        encodeFunctionData({ ...call, functionName: "claimRewards", args }),
      );
    },
    setCommission: (agentId, commission) =>
      toRegistry(
        `Set the commission of agent ${agentId}`,
        encodeFunctionData({ ...call, functionName: "setCommission", args: [agentId, commission] }),
      ),
    raiseCommission: (agentId) =>
      toRegistry(
        `Raise the commission of agent ${agentId}`,
        encodeFunctionData({ ...call, functionName: "raiseCommission", args: [agentId] }),
      ),
    claimReward: (to) =>
      toRegistry("Claim the rewards for evidence", encodeFunctionData({ ...call, functionName: "claim", args: [to] })),
  };
}
