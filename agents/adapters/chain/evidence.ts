import { encodeAbiParameters, encodeFunctionData, keccak256 } from "viem";
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

/** Commits `reporter` to a proof without showing it. */
export function encodeCommitment(reporter: Address, { first, second }: EquivocationProof): Hex {
  const parameters = [{ type: "address" }, { type: "bytes" }, { type: "bytes" }] as const;
  const commitment = keccak256(encodeAbiParameters(parameters, [reporter, first.signature, second.signature]));
  return encodeFunctionData({ abi: slasherAbi, functionName: "commitEvidence", args: [commitment] });
}

export function isConsumedCall(slasher: Address, { agentId, request, slot }: EquivocationProof) {
  const args = [agentId, request.id, slot.attempt] as const;
  return { address: slasher, abi: slasherAbi, functionName: "isConsumed", args } as const;
}
