// What a proof of equivocation costs its reporter.
import { TypedDataEncoder, id, keccak256 } from "ethers";
import type { ContractTransactionResponse } from "ethers";

import { ask, decide, type Committed } from "../../../test/support/contracts/course.ts";
import {
  commitEvidence,
  equivocation,
  heldSeat,
  keyOf,
  submitEquivocation,
  type Place,
} from "../../../test/support/contracts/equivocation.ts";
import {
  agentOf,
  decisionTypes,
  hashCommittee,
  hashRequest,
  testKey,
} from "../../../test/support/contracts/typed-data.ts";
import { minStake, nextEpoch, registration } from "../../../test/support/contracts/world.ts";
import type { World } from "../../../test/support/contracts/world.ts";

export interface EvidenceFigures {
  /**
   * The first proof of all: neither the reporter nor the treasury is owed anything yet, and the agent's word never
   * changed.
   */
  readonly first: number;
  /** Two messages; the agent has stake in both pots and stays active. */
  readonly messages: number;
  /** Two decisions; otherwise the same. */
  readonly decisions: number;
  /** Two messages; the operator's stake falls below the minimum, so another agent takes the place in the array. */
  readonly deactivating: number;
}

/**
 * Measures proofs about the seats of a committee of four, in a registry of its own with four agents, all of which sit. Except before the
 * first, the treasury and the reporter have claims already, and the agents' words in the array changed before.
 */
export async function measureEvidence(world: World): Promise<EvidenceFigures> {
  const rich = await enlist(world, "evidence rich", 4n * minStake);
  const poor = await enlist(world, "evidence poor", minStake);
  for (const label of ["evidence third", "evidence last"]) await enlist(world, label, minStake);
  await world.registry.startUnbonding(rich, minStake);
  // Waits for a later epoch than the registration, so that its word in the array has changed before; a slash still
  // takes it below the minimum.
  await nextEpoch(world);
  await world.registry.bond(poor, minStake / 20n);
  await nextEpoch(world);
  const first = await submitMessages(world, rich);
  await nextWeek(world);
  const messages = await submitMessages(world, rich);
  await nextWeek(world);
  const decisions = await submitDecisions(world, rich);
  await nextWeek(world);
  return { first, messages, decisions, deactivating: await submitMessages(world, poor) };
}

/** An agent is slashed once in seven days. */
async function nextWeek(world: World): Promise<void> {
  await world.ethers.provider.send("evm_increaseTime", [604_800]);
  await nextEpoch(world);
}

/** Registers an agent and returns its number. */
async function enlist(world: World, label: string, stake: bigint): Promise<bigint> {
  await world.registry.register(registration(world, world.deployer.address, testKey(label), stake));
  return world.registry.agentCount();
}

/** Lets a committee of four decide, and finds the seat of an agent. */
async function seated(world: World, agentId: bigint): Promise<{ readonly course: Committed; readonly place: Place }> {
  const course = await decide(world, await ask(world, { fee: 0n }));
  const seat = course.rounds[0]!.committee.findIndex((one) => agentOf(one) === agentId);
  return { course, place: { index: 0, seat } };
}

async function submitMessages(world: World, agentId: bigint): Promise<number> {
  const { course, place } = await seated(world, agentId);
  return gasOf(submitEquivocation(world, equivocation(world, course, place)));
}

async function submitDecisions(world: World, agentId: bigint): Promise<number> {
  const { course, place } = await seated(world, agentId);
  const { request } = course;
  const { committee, decision: decided } = course.rounds[0]!;
  const key = keyOf(world, course, place);
  const decisionOf = (answer: string) => {
    const outcome = id(answer);
    const common = {
      status: 2,
      outcome,
      confidence: 900_000,
      answered: 0n,
      agreed: 0n,
      transcript: id(`transcript of ${answer}`),
    };
    const digest = TypedDataEncoder.hash(world.domain, decisionTypes, {
      ...common,
      requestHash: hashRequest(request),
      attempt: decided.attempt,
      committeeHash: hashCommittee(committee),
      round: decided.round,
      answer: Buffer.from(answer),
      reputationChanges: "0x",
      shares: "0x01010101",
    });
    const body = {
      ...common,
      answerHash: id(answer),
      reputationChangesHash: keccak256("0x"),
      sharesHash: keccak256("0x01010101"),
    };
    return [body, key.sign(digest).serialized] as const;
  };
  const [yes, no] = [decisionOf("yes"), decisionOf("no")];
  await commitEvidence(world.slasher, [yes[1], no[1]]);
  return gasOf(world.slasher.submitDecisions(request, heldSeat(course, place), decided.round, ...yes, ...no));
}

async function gasOf(sent: Promise<ContractTransactionResponse>): Promise<number> {
  return Number((await (await sent).wait())!.gasUsed);
}
