// Two messages of one agent for one slot: what a proof of equivocation consists of.
import { AbiCoder, TypedDataEncoder, id, keccak256 } from "ethers";
import type { ContractTransactionResponse, Signer, SigningKey, TypedDataField } from "ethers";

import { hashRequest, messageTypes, type RequestWitness } from "./typed-data.ts";
import type { World } from "./world.ts";

/** Signs a yes and a no in the first attempt of a drawn request, commits to both and reports them. */
export async function submitEquivocation(
  world: World,
  key: SigningKey,
  request: RequestWitness,
  slasher = world.slasher,
): Promise<ContractTransactionResponse> {
  const slot = { committeeHash: id("committee"), attempt: 0, protocol: 1, phase: 2, round: 0, seat: 3 };
  const [first, second] = [id("yes"), id("no")];
  const sign = (payloadDigest: string): string =>
    signed(world, key, messageTypes, { ...slot, requestHash: hashRequest(request), payloadDigest });
  const signatures = [sign(first), sign(second)] as const;
  await commitEvidence(slasher, signatures);
  return slasher.submitMessages(request, slot, first, signatures[0], second, signatures[1]);
}

/** Commits to the signatures of a proof. The chain mines each transaction in a block of its own. */
export async function commitEvidence(slasher: World["slasher"], signatures: readonly [string, string]): Promise<void> {
  const reporter = await (slasher.runner as Signer).getAddress();
  const commitment = keccak256(
    AbiCoder.defaultAbiCoder().encode(["address", "bytes", "bytes"], [reporter, ...signatures]),
  );
  await (await slasher.commitEvidence(commitment)).wait();
}

export function signed(world: World, key: SigningKey, types: Record<string, TypedDataField[]>, value: object): string {
  return key.sign(TypedDataEncoder.hash(world.domain, types, value)).serialized;
}
