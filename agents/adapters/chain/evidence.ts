import { encodeFunctionData } from "viem";
import type { Address, Hex } from "../../core/types.ts";
import type { EquivocationProof } from "../../ports/chain.ts";
import { slasherAbi } from "conclave/abi";

export function encodeEvidence(proof: EquivocationProof): Hex {
  const { request } = proof;
  if (proof.kind === "messages") {
    const { slot, first, second } = proof;
    const args = [request, slot, first.payloadDigest, first.signature, second.payloadDigest, second.signature] as const;
    return encodeFunctionData({ abi: slasherAbi, functionName: "submitMessages", args });
  }
  const { slot, first, second } = proof;
  const args = [request, slot, first.decision, first.signature, second.decision, second.signature] as const;
  return encodeFunctionData({ abi: slasherAbi, functionName: "submitDecisions", args });
}

export function isConsumedCall(slasher: Address, { agentId, request, slot }: EquivocationProof) {
  const args = [agentId, request.id, slot.attempt] as const;
  return { address: slasher, abi: slasherAbi, functionName: "isConsumed", args } as const;
}
