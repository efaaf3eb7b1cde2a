// Two messages of one seat for one slot: what a proof of equivocation consists of.
import { AbiCoder, TypedDataEncoder, id, keccak256 } from "ethers";
import type { ContractTransactionResponse, Signer, SigningKey } from "ethers";

import { keyOfSeat, packDecided, type Asked, type Committed } from "./course.ts";
import { hashCommittee, hashRequest, messageTypes } from "./typed-data.ts";
import type { World } from "./world.ts";

/** A request with the rounds that decided or hung so far; `Asked` while a later committee is awaited. */
export type Course = Pick<Committed, "request" | "rounds"> | Asked;

/** A seat in a round on record. */
export interface Place {
  readonly index: number;
  readonly seat: number;
}

const roundsOf = (course: Course) => ("past" in course ? course.past : course.rounds);

/** `HeldSeat` of contracts/interfaces/ISlasher.sol. */
export function heldSeat(course: Course, { index, seat }: Place) {
  const { round, seedBlock } = "past" in course ? course : { round: 0n, seedBlock: 0n };
  return { rounds: roundsOf(course).map(packDecided), index, seat, running: round, seedBlock };
}

/** The hot key of a seat. */
export const keyOf = (world: World, course: Course, { index, seat }: Place): SigningKey =>
  keyOfSeat(world, roundsOf(course)[index]!.committee[seat]!);

/** The arguments of `submitMessages`: a yes and a no that a key signed for one slot of the seat, by default the seat's own key. */
export function equivocation(world: World, course: Course, place: Place, key = keyOf(world, course, place)) {
  const { request } = course;
  const { committee, decision } = roundsOf(course)[place.index]!;
  const slot = { phase: 2, round: 0 };
  const where = {
    ...slot,
    requestHash: hashRequest(request),
    committeeHash: hashCommittee(committee),
    attempt: decision.attempt,
    protocol: 1,
    seat: place.seat,
  };
  const sign = (payloadDigest: string): string =>
    key.sign(TypedDataEncoder.hash(world.domain, messageTypes, { ...where, payloadDigest })).serialized;
  const [first, second] = [id("yes"), id("no")];
  return [request, heldSeat(course, place), slot, first, sign(first), second, sign(second)] as const;
}

/** Commits to a proof and shows it. */
export async function submitEquivocation(
  world: World,
  proof: ReturnType<typeof equivocation>,
  slasher = world.slasher,
): Promise<ContractTransactionResponse> {
  await commitEvidence(slasher, [proof[4], proof[6]]);
  return slasher.submitMessages(...proof);
}

/** Commits to the signatures of a proof. The chain mines each transaction in a block of its own. */
export async function commitEvidence(slasher: World["slasher"], signatures: readonly [string, string]): Promise<void> {
  const reporter = await (slasher.runner as Signer).getAddress();
  const commitment = keccak256(
    AbiCoder.defaultAbiCoder().encode(["address", "bytes", "bytes"], [reporter, ...signatures]),
  );
  await (await slasher.commitEvidence(commitment)).wait();
}
