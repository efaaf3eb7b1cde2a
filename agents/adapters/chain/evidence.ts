import { encodeFunctionData } from "viem";
import type { Address, Hex } from "../../core/types.ts";
import type { EquivocationProof } from "../../ports/chain.ts";
import { slasherAbi } from "conclave/abi";

export function encodeEvidence({ request, slot, first, second }: EquivocationProof): Hex {
  const args = [request, slot, first.payloadDigest, first.signature, second.payloadDigest, second.signature] as const;
  return encodeFunctionData({ abi: slasherAbi, functionName: "submitMessages", args });
}

export function isConsumedCall(slasher: Address, { agentId, slot }: EquivocationProof) {
  const args = [agentId, slot.requestHash, slot.attempt] as const;
  return { address: slasher, abi: slasherAbi, functionName: "isConsumed", args } as const;
}
