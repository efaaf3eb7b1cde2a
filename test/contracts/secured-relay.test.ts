import { expect } from "chai";
import hre from "hardhat";

import {
  appeal,
  ask,
  commitArgs,
  committedBy,
  decide,
  decisionFor,
  draw,
  no,
  recordOf,
  type Committed,
} from "../support/contracts/course.ts";
import { agentOf } from "../support/contracts/typed-data.ts";
import { deployWorld, maxStake, minStake, registerAgents, type World } from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

async function setting() {
  const world = await deployWorld(ethers);
  const { oracle, token, registry } = world;
  const [, operator, chair] = await ethers.getSigners();
  await token.mint(operator!.address, 10n ** 24n);
  await token.connect(operator!).approve(registry.target, 10n ** 24n);
  await registerAgents(world, 32, { operator: operator!, stake: maxStake });
  await token.mint(chair!.address, 10n ** 24n);
  await token.connect(chair!).approve(oracle.target, 10n ** 24n);
  return { world, chair: chair! };
}

const stakeOf = async ({ registry }: World, seat: string): Promise<bigint> =>
  (await registry.getAgent(agentOf(seat))).bonded.assets as bigint;

describe("who relays a secured decision", () => {
  // Seat 0 chairs, lies, and relays the signatures of the others, who certify that the chair said so.
  it("SC3, SC4: must not choose whose stake is at risk, and earn by it", async () => {
    const { world, chair } = await loadFixture(setting);
    const drawn = await draw(world, await ask(world, { security: 1, appeals: 2, fee: 0n }));
    const lie = decisionFor(drawn, no);
    const sent = await world.oracle.connect(chair).commit(...commitArgs(world, drawn, lie, [1, 2, 3]));
    let committed: Committed = committedBy(world, drawn, lie, await sent.wait());
    for (let index = 0; index < 2; index++)
      committed = await decide(world, await appeal(world, committed, world.oracle.connect(chair)));
    await world.settlement.settle(...recordOf(committed));
    await world.slasher.submitOverturned(...recordOf(committed), 0, 1);
    const [liar, ...honest] = await Promise.all(drawn.committee.map((seat) => stakeOf(world, seat)));
    const reward = (await world.registry.owedTo(chair.address)) as bigint;
    expect(honest).to.deep.equal(Array(3).fill(maxStake - maxStake / 20n));
    expect(liar).to.equal(maxStake - maxStake / 20n);
    expect(reward).to.equal(0n);
  });

  // The operator keeps its stake, as a delegator.
  it("SC4: a seat that is handed over after its decision does not take the reward from the appellants", async () => {
    const { world, chair } = await loadFixture(setting);
    const { registry, token } = world;
    let committed: Committed = await decide(world, await ask(world, { security: 1, appeals: 2, fee: 0n }), no);
    for (let index = 0; index < 2; index++)
      committed = await decide(world, await appeal(world, committed, world.oracle.connect(chair)));
    await world.settlement.settle(...recordOf(committed));
    const [, operator, , heir] = await ethers.getSigners();
    const agentId = agentOf(committed.rounds[0]!.committee[0]!);
    await registry.connect(operator!).startUnbonding(agentId, minStake);
    await registry.connect(operator!).transferOperator(agentId, heir!.address);
    await token.mint(heir!.address, minStake);
    await token.connect(heir!).approve(registry.target, minStake);
    await registry.connect(heir!).bond(agentId, minStake);
    await registry.connect(heir!).acceptOperator(agentId);
    await world.slasher.submitOverturned(...recordOf(committed), 0, 1);
    expect(await registry.owedTo(chair.address)).to.equal(maxStake / 40n);
  });
});
