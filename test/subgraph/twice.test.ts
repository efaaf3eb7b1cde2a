// Agents that sit twice for a request (SE3): which of their seats changed their reputation.
import assert from "node:assert/strict";
import { test } from "node:test";
import { concat, hexlify } from "ethers";
import { openSubgraph } from "../../agents/adapters/subgraph/subgraph.ts";
import { FLAT } from "../../agents/core/phases/pay.ts";
import type { AgentId } from "../../agents/core/types.ts";
import { rows } from "../../devnet/subgraph/ledger.ts";
import { deployedIn } from "../../lab/subgraph/economy-chain.ts";
import { ANYTHING } from "../adapters/fixtures/subgraph-server.ts";
import { ask, decide, hung, no, recordOf, unanswerable, type Committed } from "../support/contracts/course.ts";
import { agentOf, word, type SignedDecision, type Terms } from "../support/contracts/typed-data.ts";
import { deployWorld, minStake, registerAgents, type World } from "../support/contracts/world.ts";
import { check, headOf, startChain, startNode } from "./follow.ts";
import { checkAgentRecord } from "./history.ts";

/** Heavy agents, in a bucket of their own, and light ones. As many sit in a committee of 4 and in the larger one after it. */
const [HEAVY, LIGHT] = [5, 8];
const ALL = HEAVY + LIGHT;
const [SMALL, LARGER] = [4, 9];
const WEEK_SECONDS = 7 * 24 * 3600;
const UNSURE = 600_000;

/** A byte for each seat. */
const each = (size: number, byte: number): string => hexlify(new Uint8Array(size).fill(byte));
/** Reputation changes that move each seat so. */
const movesAll = (size: number, steps: number): string =>
  concat(Array.from({ length: size }, (_, seat) => hexlify(Uint8Array.of(seat, steps & 0xff))));
const number = (value: bigint): Partial<SignedDecision> => ({ outcome: word(BigInt.asUintN(256, value)) });

interface Case {
  readonly terms?: Partial<Terms>;
  readonly first: Partial<SignedDecision>;
  readonly larger?: Partial<SignedDecision>;
  readonly steps: number;
  /** True if the larger committee leaves the first decision as it is. */
  readonly stands: boolean;
}

const numbers: Partial<Terms> = { kind: 2, tolerance: 50 };
const cases: readonly Case[] = [
  { first: no, steps: -2, stands: false },
  // Nobody is paid, so no pay tells what is overturned.
  { terms: { fee: 0n }, first: no, steps: 1, stands: false },
  { terms: numbers, first: number(-20n), larger: number(30n), steps: 1, stands: true },
  { terms: numbers, first: number(-21n), larger: number(30n), steps: 1, stands: false },
  { first: no, larger: unanswerable, steps: 1, stands: false },
  { first: no, larger: { ...unanswerable, shares: each(LARGER, FLAT) }, steps: 1, stands: true },
  { first: no, larger: hung, steps: 1, stands: true },
];

/** Plays a request whose first committee is unsure, so that a larger one is called. */
async function playUnsure(world: World, { terms, first, larger, steps }: Case): Promise<Committed> {
  const asked = await ask(world, { appeals: 1, finality: 90, ...terms });
  const unsure = { ...first, confidence: UNSURE, reputationChanges: movesAll(SMALL, steps) };
  const { reopened } = await decide(world, asked, unsure);
  return settled(world, await decide(world, reopened!, { ...larger, reputationChanges: movesAll(LARGER, steps) }));
}

/** Plays a request in which all agents sit, hang, and sit again. */
async function playRetried(world: World, [first, second]: readonly [number, number]): Promise<Committed> {
  const asked = await ask(world, { committeeSize: ALL, retries: 1 });
  const { reopened } = await decide(world, asked, { ...hung, reputationChanges: movesAll(ALL, first) });
  return settled(world, await decide(world, reopened!, { reputationChanges: movesAll(ALL, second) }));
}

async function settled({ settlement }: World, committed: Committed): Promise<Committed> {
  await settlement.settle(...recordOf(committed));
  return committed;
}

test("a reputation change is of the seat that caused it, where its agent sat twice", async (context) => {
  const chain = await startChain(context);
  const world = await deployWorld(chain.ethers);
  await registerAgents(world, HEAVY);
  await registerAgents(world, LIGHT, { stake: minStake });
  // All falls are in one week (RE4).
  const { timestamp } = (await chain.ethers.provider.getBlock("latest"))!;
  const week = (Math.floor(timestamp / WEEK_SECONDS) + 1) * WEEK_SECONDS;
  await chain.ethers.provider.send("evm_setNextBlockTimestamp", [week]);
  const unsure: Committed[] = [];
  for (const one of cases) unsure.push(await playUnsure(world, one));
  const recovered = await playRetried(world, [1, 1]);
  const fell = await playRetried(world, [-1, -2]);

  const deployed = deployedIn(world);
  const node = await startNode(context, chain, deployed);
  const entities = await check(context, node, chain, deployed, await headOf(chain));
  /** The seats, as attempt and number, that changed a reputation, in the order of the changes. */
  const causes = ({ request }: Committed): readonly string[] =>
    rows(entities, "ReputationChange")
      .filter((change) => change["request"] === String(request.id))
      .toSorted((one, other) => Number(one["logIndex"]) - Number(other["logIndex"]))
      .map(({ id }) => id.slice(String(request.id).length + 1));
  const seats = (attempt: number, size: number): readonly string[] =>
    Array.from({ length: size }, (_, seat) => `${attempt}-${seat}`);

  for (const [index, { stands }] of cases.entries()) {
    const [before, after] = unsure[index]!.rounds.map(({ committee }) => new Set(committee.map(agentOf)));
    assert.ok(!before!.isDisjointFrom(after!), "no agent sat twice");
    const expected = [...(stands ? seats(0, SMALL) : []), ...seats(1, LARGER)];
    assert.deepEqual(causes(unsure[index]!), expected, `case ${index}`);
  }
  assert.deepEqual(causes(recovered), [...seats(0, ALL), ...seats(1, ALL)]);
  // Whoever fell in the first case falls no more by the first committee, which says no more.
  const fallen = new Set(unsure[0]!.rounds[1]!.committee.map(agentOf));
  const falling = seats(0, ALL).filter((_, seat) => !fallen.has(agentOf(fell.rounds[0]!.committee[seat]!)));
  assert.deepEqual(causes(fell), [...falling, ...seats(1, ALL)]);

  const subgraph = openSubgraph({ url: node.queryUrl });
  for (let id = 1; id <= ALL; id++) {
    await checkAgentRecord(subgraph, entities, id as AgentId, context.signal);
    const page = { limit: 10, cursor: null };
    const { answer } = await subgraph.requests({ ...ANYTHING, agentId: id as AgentId }, page, context.signal);
    const own = [...unsure, recovered, fell].filter(({ rounds }) =>
      rounds.some(({ committee }) => committee.some((seat) => agentOf(seat) === BigInt(id))),
    );
    assert.deepEqual(
      answer.requests.map(({ requestId }) => requestId),
      own.map(({ request }) => request.id).toReversed(),
    );
  }
});
