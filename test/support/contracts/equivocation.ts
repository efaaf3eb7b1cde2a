// Two messages of one agent for one slot: what a proof of equivocation consists of.
import { TypedDataEncoder, id } from "ethers";
import type { ContractTransactionResponse, SigningKey, TypedDataField } from "ethers";

import { hashRequest, messageTypes, type RequestWitness } from "./typed-data.ts";
import type { World } from "./world.ts";

/** Signs a yes and a no in the first attempt of a drawn request, and reports both. */
export function submitEquivocation(
  world: World,
  key: SigningKey,
  request: RequestWitness,
  slasher = world.slasher,
): Promise<ContractTransactionResponse> {
  const slot = { committeeHash: id("committee"), attempt: 0, protocol: 1, phase: 2, round: 0, seat: 3 };
  const [first, second] = [id("yes"), id("no")];
  const sign = (payloadDigest: string): string =>
    signed(world, key, messageTypes, { ...slot, requestHash: hashRequest(request), payloadDigest });
  return slasher.submitMessages(request, slot, first, sign(first), second, sign(second));
}

export function signed(world: World, key: SigningKey, types: Record<string, TypedDataField[]>, value: object): string {
  return key.sign(TypedDataEncoder.hash(world.domain, types, value)).serialized;
}
