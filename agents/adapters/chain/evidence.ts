import { encodeFunctionData, hashTypedData } from "viem";
import type { Address, Digest, Domain, Hex } from "../../core/types.ts";
import type { EquivocationProof } from "../../ports/chain.ts";
import { slasherAbi } from "conclave/abi";

/** EIP-712 digest of a message with this payload in the slot, from the hashes alone; the core's `messageDigest` is the same. */
export function slotDigest(
  { chainId, oracle }: Domain,
  slot: EquivocationProof["slot"],
  payloadDigest: Digest,
): Digest {
  return hashTypedData({
    domain: { name: "Conclave", version: "1", chainId, verifyingContract: oracle },
    types: {
      Message: [
        { name: "requestHash", type: "bytes32" },
        { name: "committeeHash", type: "bytes32" },
        { name: "attempt", type: "uint32" },
        { name: "protocol", type: "uint32" },
        { name: "phase", type: "uint32" },
        { name: "round", type: "uint32" },
        { name: "seat", type: "uint32" },
        { name: "payloadDigest", type: "bytes32" },
      ],
    },
    primaryType: "Message",
    message: { ...slot, payloadDigest },
  }) as Digest;
}

export function encodeEvidence({ slot, first, second }: EquivocationProof): Hex {
  const args = [slot, first.payloadDigest, first.signature, second.payloadDigest, second.signature] as const;
  return encodeFunctionData({ abi: slasherAbi, functionName: "submitMessages", args });
}

export function isConsumedCall(slasher: Address, { agentId, slot }: EquivocationProof) {
  const args = [agentId, slot.requestHash, slot.attempt] as const;
  return { address: slasher, abi: slasherAbi, functionName: "isConsumed", args } as const;
}
