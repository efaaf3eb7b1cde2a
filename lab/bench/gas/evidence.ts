// What a proof of equivocation costs its reporter.
import { id, keccak256 } from "ethers";
import type { ContractTransactionResponse, SigningKey } from "ethers";

import { ask, decide } from "../../../test/support/contracts/course.ts";
import { commitEvidence, signed, submitEquivocation } from "../../../test/support/contracts/equivocation.ts";
import {
  decisionTypes,
  hashRequest,
  testKey,
  type RequestWitness,
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
 * Measures proofs. Except before the first, the treasury and the reporter have claims already, and the agents' words
 * in the array changed before.
 */
export async function measureEvidence(world: World): Promise<EvidenceFigures> {
  const rich = await enlist(world, "evidence rich", 4n * minStake);
  const poor = await enlist(world, "evidence poor", minStake);
  await enlist(world, "evidence last", minStake);
  await world.registry.startUnbonding(rich.agentId, minStake);
  // Waits for a later epoch than the registration, so that its word in the array has changed before; a slash still
  // takes it below the minimum.
  await nextEpoch(world);
  await world.registry.bond(poor.agentId, minStake / 20n);
  await nextEpoch(world);
  const first = await submitMessages(world, rich.key);
  await nextWeek(world);
  const messages = await submitMessages(world, rich.key);
  await nextWeek(world);
  const decisions = await submitDecisions(world, rich.key);
  await nextWeek(world);
  return { first, messages, decisions, deactivating: await submitMessages(world, poor.key) };
}

/** An agent is slashed once in seven days. */
async function nextWeek(world: World): Promise<void> {
  await world.ethers.provider.send("evm_increaseTime", [604_800]);
  await nextEpoch(world);
}

async function enlist(
  world: World,
  label: string,
  stake: bigint,
): Promise<{ readonly key: SigningKey; readonly agentId: bigint }> {
  const key = testKey(label);
  await world.registry.register(registration(world, world.deployer.address, key, stake));
  return { key, agentId: await world.registry.agentCount() };
}

/** Asks, and lets a committee of four decide. */
async function decidedRequest(world: World): Promise<RequestWitness> {
  return (await decide(world, await ask(world, { fee: 0n }))).request;
}

async function submitMessages(world: World, key: SigningKey): Promise<number> {
  return gasOf(submitEquivocation(world, key, await decidedRequest(world)));
}

async function submitDecisions(world: World, key: SigningKey): Promise<number> {
  const request = await decidedRequest(world);
  const slot = { committeeHash: id("committee"), attempt: 0, round: 0 };
  const decisionOf = (answer: string) => {
    const bytes = Buffer.from(answer);
    const outcome = id(answer);
    const common = { status: 2, outcome, confidence: 900_000, transcript: id(`transcript of ${answer}`) };
    const signature = signed(world, key, decisionTypes, {
      ...slot,
      ...common,
      requestHash: hashRequest(request),
      answer: bytes,
      reputationChanges: "0x",
      shares: "0x01010101",
    });
    const body = {
      ...common,
      answerHash: id(answer),
      reputationChangesHash: keccak256("0x"),
      sharesHash: keccak256("0x01010101"),
    };
    return [body, signature] as const;
  };
  const [yes, no] = [decisionOf("yes"), decisionOf("no")];
  await commitEvidence(world.slasher, [yes[1], no[1]]);
  return gasOf(world.slasher.submitDecisions(request, slot, ...yes, ...no));
}

async function gasOf(sent: Promise<ContractTransactionResponse>): Promise<number> {
  return Number((await (await sent).wait())!.gasUsed);
}
