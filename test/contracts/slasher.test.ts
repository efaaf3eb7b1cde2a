import { expect } from "chai";
import hre from "hardhat";

import {
  appeal,
  ask,
  commit,
  decide,
  draw,
  fallBackArgs,
  givenUp,
  hung,
  passDeadline,
  recordOf,
  refundArgs,
  replace,
  type Committed,
  type Drawn,
} from "../support/contracts/course.ts";
import {
  commitEvidence,
  equivocation,
  heldSeat,
  keyOf,
  submitEquivocation,
  type Course,
  type Place,
} from "../support/contracts/equivocation.ts";
import { agentOf, hashRequest, testKey } from "../support/contracts/typed-data.ts";
import {
  deployWorld,
  maxStake,
  minStake,
  registerAgents,
  registration,
  treasury,
  unbondingDelay,
  type World,
} from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;

const WEEK = 7 * 24 * 3600;
const START: Place = { index: 0, seat: 0 };

/** Makes an agent with stake in both pots that sat in a committee of all agents, and two payloads that its seat signed for one slot. */
async function equivocator() {
  const world = await deployWorld(ethers);
  const [, reporter] = await ethers.getSigners();
  const key = testKey("equivocator");
  await world.registry.register(registration(world, world.deployer.address, key, 3n * minStake));
  await registerAgents(world, 6);
  const committed = await decide(world, await ask(world, { fee: 0n, committeeSize: 7 }));
  await world.registry.startUnbonding(1, minStake);
  const seat = committed.rounds[0]!.committee.findIndex((one) => agentOf(one) === 1n);
  return { world, reporter: reporter!, proof: equivocation(world, committed, { index: 0, seat }) };
}

/** Makes as many agents as four seats and two appeals need. */
async function agents(): Promise<World> {
  const world = await deployWorld(ethers);
  await registerAgents(world, 32);
  return world;
}

/** Fails unless the seat of a course loses a tenth of its agent's stake by a proof. */
async function expectSlash(world: World, course: Course, place: Place = START): Promise<void> {
  const proof = equivocation(world, course, place);
  await submitEquivocation(world, proof);
  const { rounds } = heldSeat(course, place);
  const { bonded } = await world.registry.getAgent(agentOf(rounds[place.index]!.committee[place.seat]!));
  expect(bonded.assets).to.equal((maxStake * 9n) / 10n);
}

/** Fails unless a proof is refused with this error of the oracle or the slasher. */
async function expectRefused(world: World, proof: ReturnType<typeof equivocation>, error: string): Promise<void> {
  const contract = error === "WitnessMismatch" ? world.oracle : world.slasher;
  await expect(submitEquivocation(world, proof)).to.be.revertedWithCustomError(contract, error);
}

/** The course of a request whose committee is known, as if it had decided. */
function asIfDecided(world: World, drawn: Drawn, committed: Committed): Course {
  const [{ committee: _, ...round }] = committed.rounds as [Committed["rounds"][number]];
  return { request: drawn.request, rounds: [{ ...round, committee: drawn.committee, round: drawn.round }] };
}

describe("Slasher", () => {
  it("announces the proof, the reporter and every amount", async () => {
    const { world, reporter, proof } = await loadFixture(equivocator);
    const { slasher, registry, token } = world;
    const [request] = proof;
    await commitEvidence(slasher.connect(reporter), [proof[4], proof[6]]);
    await expect(slasher.connect(reporter).submitMessages(...proof))
      .to.emit(slasher, "EquivocationProven")
      .withArgs(1, request.id, reporter.address, 0, 0, hashRequest(request))
      .and.to.emit(registry, "StakeSlashed")
      .withArgs(1, reporter.address, minStake / 5n, minStake / 10n, minStake / 20n);
    expect(await slasher.isConsumed(1, request.id, 0)).to.equal(true);
    expect(await slasher.isConsumed(1, request.id, 1)).to.equal(false);
    expect(await registry.owedTo(treasury)).to.equal(minStake / 4n);
    await expect(registry.connect(reporter).claim(treasury))
      .to.emit(registry, "Claimed")
      .withArgs(reporter.address, treasury, minStake / 20n);
    expect(await token.balanceOf(treasury)).to.equal(minStake / 20n);
  });

  it("serves one registry and its oracle", async () => {
    const { world } = await loadFixture(equivocator);
    const { slasher, registry, oracle } = world;
    const [event] = await slasher.queryFilter(slasher.filters["SlasherDeployed"]!());
    const { args } = event as unknown as { readonly args: readonly string[] };
    expect([...args]).to.deep.equal([registry.target, oracle.target]);
  });
});

describe("ST10: the record that evidence needs", () => {
  it("is there from the decision on: an appeal in the next block puts nothing off", async () => {
    const world = await loadFixture(agents);
    const committed = await decide(world, await ask(world, { fee: 0n, appeals: 1 }));
    const running = await appeal(world, committed);
    const proof = equivocation(world, running, START);
    const [request, held, ...rest] = proof;
    const wrong = { running: committed.rounds[0]!.round, seedBlock: running.seedBlock + 1n, rounds: [] };
    for (const [field, value] of Object.entries(wrong))
      await expectRefused(world, [request, { ...held, [field]: value }, ...rest], "WitnessMismatch");
    // The last round has no appellant, so another round would follow it.
    const unappealed = { ...held, rounds: heldSeat(committed, START).rounds };
    await expectRefused(world, [request, unappealed, ...rest], "WitnessMismatch");
    await expectSlash(world, running);
  });

  it("is there while a hung committee is retried, while a silent one is replaced, and when nobody answers", async () => {
    const world = await loadFixture(agents);
    const first = await decide(world, await ask(world, { fee: 0n, retries: 2 }), hung);
    await expectSlash(world, first.reopened!);
    const replaced = await replace(world, first.reopened!);
    await expectSlash(world, replaced, { index: 0, seat: 1 });
    await passDeadline(world, replaced.round);
    await world.oracle.fallBack(...fallBackArgs(replaced));
    await expectSlash(world, givenUp(replaced), { index: 0, seat: 2 });
  });

  it("is there when the request is settled, for every round of it", async () => {
    const world = await loadFixture(agents);
    const terms = { fee: 0n, appeals: 2 };
    const first = await decide(world, await ask(world, terms));
    const second = await decide(world, await appeal(world, first));
    const last = await decide(world, await appeal(world, second));
    await world.settlement.settle(...recordOf(last));
    for (const index of [0, 1, 2]) await expectSlash(world, last, { index, seat: index });
  });

  it("does not end before stake that began to leave at the draw, however long later committees stay silent", async () => {
    const world = await loadFixture(agents);
    const terms = { fee: 0n, appeals: 1, retries: 3, duration: WEEK };
    const drawn = await draw(world, await ask(world, terms));
    const guilty = Number(agentOf(drawn.committee[0]!));
    const { shares } = await world.registry.positionOf(guilty, world.deployer.address);
    await world.registry.startUnbonding(guilty, shares);
    const leaves = (await time.latest()) + unbondingDelay;
    const running = await appeal(world, await commit(world, drawn));
    const proof = equivocation(world, await replace(world, running), START);
    await commitEvidence(world.slasher, [proof[4], proof[6]]);
    await time.setNextBlockTimestamp(leaves - 1);
    await world.slasher.submitMessages(...proof);
    const { unbonding } = await world.registry.getAgent(guilty);
    expect(unbonding.assets).to.equal((maxStake * 9n) / 10n);
  });

  it("is missing for an attempt without a decision: silent, replaced, refunded or only invented", async () => {
    const world = await loadFixture(agents);
    const other = await decide(world, await ask(world, { fee: 0n }));
    const silent = await draw(world, await ask(world, { fee: 0n, retries: 1 }));
    const invented = asIfDecided(world, silent, other);
    await expectRefused(world, equivocation(world, invented, START), "WitnessMismatch");
    const again = await replace(world, silent);
    await expectRefused(world, equivocation(world, invented, START), "WitnessMismatch");
    const decided = await decide(world, again);
    // The record shows attempt 1. What the silent committee signed is about attempt 0.
    const [request, , ...rest] = equivocation(world, invented, START);
    await expectRefused(world, [request, heldSeat(decided, START), ...rest], "InvalidEvidence");
    await expectSlash(world, decided);

    const alone = await draw(world, await ask(world, { fee: 0n }));
    await passDeadline(world, alone.round);
    await world.oracle.refund(...refundArgs(alone));
    await expectRefused(world, equivocation(world, asIfDecided(world, alone, other), START), "WitnessMismatch");
    await expectRefused(world, equivocation(world, { ...alone, past: other.rounds }, START), "WitnessMismatch");
  });
});

describe("ST10: the seat that evidence shows", () => {
  /** A request with two rounds on record. */
  async function twoRounds() {
    const world = await agents();
    const first = await decide(world, await ask(world, { fee: 0n, appeals: 1 }));
    return { world, committed: await decide(world, await appeal(world, first)) };
  }

  it("is the one that the agent held, in its round: no other seat, no other round and no other agent's", async () => {
    const { world, committed } = await loadFixture(twoRounds);
    const key = keyOf(world, committed, START);
    // The key signs for places that its agent did not hold.
    for (const place of [
      { index: 0, seat: 1 },
      { index: 1, seat: 0 },
      { index: 1, seat: 8 },
    ])
      await expectRefused(world, equivocation(world, committed, place, key), "SeatNotHeld");
    // What its seat signed is shown for another place.
    const [request, held, ...rest] = equivocation(world, committed, START);
    for (const place of [
      { index: 0, seat: 1 },
      { index: 1, seat: 0 },
    ])
      await expectRefused(world, [request, { ...held, ...place }, ...rest], "InvalidEvidence");
    for (const place of [
      { index: 2, seat: 0 },
      { index: 0, seat: 4 },
      { index: 0, seat: 2n ** 32n },
    ])
      await expectRefused(world, [request, { ...held, ...place } as never, ...rest], "SeatNotHeld");
    await expectSlash(world, committed);
  });

  it("is that of the record's request and of no other", async () => {
    const { world, committed } = await loadFixture(twoRounds);
    const other = await decide(world, await ask(world, { fee: 0n }));
    const proof = equivocation(world, { ...committed, request: other.request }, START);
    await expectRefused(world, proof, "WitnessMismatch");
  });

  it("is no seat of a request that a leaked key never sat in: 20 old requests cost its agent nothing", async () => {
    const world = await loadFixture(agents);
    const requests: Committed[] = [];
    for (let index = 0; index < 20; index++) requests.push(await decide(world, await ask(world, { fee: 0n })));
    const leaked = testKey("leaked");
    await world.registry.register(registration(world, world.deployer.address, leaked, maxStake));
    const agentId = await world.registry.agentCount();
    for (const one of requests)
      for (const seat of [0, 1, 2, 3])
        await expectRefused(world, equivocation(world, one, { index: 0, seat }, leaked), "SeatNotHeld");
    expect((await world.registry.getAgent(agentId)).bonded.assets).to.equal(maxStake);
  });
});
