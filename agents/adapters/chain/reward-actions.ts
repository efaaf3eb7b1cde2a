import { encodeFunctionData, type Hex } from "viem";
import type { RewardActions } from "../../ports/chain.ts";
import { agentRegistryAbi } from "conclave/abi";
import { currencyCode } from "./encode.ts";
import type { Connection } from "./connection.ts";
import { toReceipt, type Sender } from "./transactions.ts";

const call = { abi: agentRegistryAbi } as const;

export function createRewardActions({ registry }: Connection, sender: Sender): RewardActions {
  const toRegistry = async (doing: string, data: Hex) => toReceipt(await sender.send({ to: registry, data, doing }));
  return {
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
