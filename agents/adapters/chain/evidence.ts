import { encodeAbiParameters, encodeFunctionData, keccak256 } from "viem";
import type { Address, Hex } from "../../core/types.ts";
import type { RequestRecord } from "../../core/request/progress.ts";
import type { EquivocationProof } from "../../ports/chain.ts";
import { heldSeat, unprovable } from "../../ports/evidence.ts";
import { slasherAbi } from "@conclave/contracts/abi";
import { decidedOf } from "./encode.ts";

/** Throws EVIDENCE_UNPROVABLE. */
export function encodeEvidence(proof: EquivocationProof, record: RequestRecord): Hex {
  const { request } = proof;
  const held = heldArguments(proof, record);
  if (proof.kind === "messages") {
    const { slot, first, second } = proof;
    const pair = [first.payloadDigest, first.signature, second.payloadDigest, second.signature] as const;
    return encodeFunctionData({
      abi: slasherAbi,
      functionName: "submitMessages",
      args: [request, held, slot, ...pair],
    });
  }
  const { slot, first, second } = proof;
  const pair = [first.decision, first.signature, second.decision, second.signature] as const;
  const args = [request, held, slot.round, ...pair] as const;
  return encodeFunctionData({ abi: slasherAbi, functionName: "submitDecisions", args });
}

/** Returns the `HeldSeat` of contracts/interfaces/ISlasher.sol. */
function heldArguments(proof: EquivocationProof, record: RequestRecord) {
  const held = heldSeat(proof, record);
  if (held === null) throw unprovable(proof);
  const { rounds, running } = record;
  return {
    rounds: rounds.map(decidedOf),
    index: BigInt(held.index),
    seat: BigInt(held.seat),
    running: running?.round ?? 0n,
    seedBlock: running?.seedBlock ?? 0n,
  };
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
