import { expect } from "chai";
import { ZeroHash } from "ethers";
import hre from "hardhat";

import {
  appeal,
  ask,
  decide,
  decisionFor,
  draw,
  fallBackArgs,
  givenUp,
  hung,
  latestOf,
  no,
  passDeadline,
  recordOf,
  refundArgs,
  type Committed,
} from "../support/contracts/course.ts";
import { Status, word } from "../support/contracts/typed-data.ts";
import { deployWorld, registerAgents, type World } from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

async function agents() {
  const world = await deployWorld(ethers);
  await registerAgents(world, 13);
  return world;
}

type Outcome = readonly [status: number, attempt: number, confidence: number, value: string];

/** Fails unless the view proves the outcome, and contracts can read it once somebody has stored it. */
async function readable(world: World, committed: Committed, [status, attempt, confidence, value]: Outcome) {
  const { settlement } = world;
  const [, , stranger] = await ethers.getSigners();
  const { id } = committed.request;
  const expected = [BigInt(status), BigInt(attempt), BigInt(confidence), value];
  expect([...(await settlement.outcomeOf(...latestOf(committed)))]).to.deep.equal(expected);
  expect((await settlement.storedOutcome(id)).status).to.equal(Status.None);
  await expect(settlement.connect(stranger!).storeOutcome(...latestOf(committed)))
    .to.emit(settlement, "OutcomeStored")
    .withArgs(id, status, attempt, confidence, value);
  expect([...(await settlement.storedOutcome(id))]).to.deep.equal(expected);
  await expect(settlement.storeOutcome(...latestOf(committed))).not.to.emit(settlement, "OutcomeStored");
}

describe("readable outcomes (SE22)", () => {
  it("proves and stores a decision that its commit settled", async () => {
    const world = await loadFixture(agents);
    const committed = await decide(world, await ask(world));
    await readable(world, committed, [Status.Decided, 0, 900_000, word(1n)]);
  });

  it("proves and stores a decision before and after a settlement of several rounds", async () => {
    const world = await loadFixture(agents);
    const first = await decide(world, await ask(world, { appeals: 1 }));
    const last = await decide(world, await appeal(world, first), { ...no, confidence: 1 });
    const outcome = [Status.Decided, 1, 1, ZeroHash] as const;
    expect([...(await world.settlement.outcomeOf(...latestOf(last)))].map(String)).to.deep.equal(outcome.map(String));
    await world.settlement.settle(...recordOf(last));
    await readable(world, last, outcome);
  });

  it("proves and stores that a committee hung", async () => {
    const world = await loadFixture(agents);
    await readable(world, await decide(world, await ask(world), hung), [Status.Hung, 0, 0, ZeroHash]);
  });

  it("says Hung without a value where nobody answered an appeal", async () => {
    const world = await loadFixture(agents);
    const running = await appeal(world, await decide(world, await ask(world, { appeals: 1 })));
    await passDeadline(world, running.round);
    await world.oracle.fallBack(...fallBackArgs(running));
    await readable(world, givenUp(running), [Status.Hung, 1, 0, ZeroHash]);
  });

  it("proves nothing before a decision is final", async () => {
    const world = await loadFixture(agents);
    const { oracle, settlement } = world;
    const committed = await decide(world, await ask(world, { appeals: 1 }));
    for (const call of [settlement.outcomeOf, settlement.storeOutcome])
      await expect(call(...latestOf(committed))).to.be.revertedWithCustomError(oracle, "DecisionIsProvisional");
    await passDeadline(world, committed.rounds[0]!.round);
    await oracle.finalize(...latestOf(committed));
    await readable(world, committed, [Status.Decided, 0, 900_000, word(1n)]);
  });

  it("proves nothing of a request that is running or refunded, or that nobody made", async () => {
    const world = await loadFixture(agents);
    const { oracle, settlement } = world;
    const asked = await ask(world);
    const drawn = await draw(world, asked);
    const decision = { ...decisionFor(drawn) };
    const claimed = {
      request: asked.request,
      rounds: [{ round: asked.round, committee: drawn.committee, decision, relay: ZeroHash, appellant: ZeroHash }],
    } as unknown as Committed;
    const refused = (status: number) =>
      expect(settlement.outcomeOf(...latestOf(claimed)))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(claimed.request.id, status);
    await refused(Status.Requested);
    await passDeadline(world, asked.round);
    await oracle.refund(...refundArgs(asked));
    await refused(Status.Refunded);
    const unknown = { ...asked.request, id: asked.request.id + 1n };
    await expect(settlement.outcomeOf(unknown, ...latestOf(claimed).slice(1)))
      .to.be.revertedWithCustomError(oracle, "WrongStatus")
      .withArgs(unknown.id, Status.None);
  });

  it("refuses every other witness than the last decision's", async () => {
    const world = await loadFixture(agents);
    const { oracle, settlement } = world;
    const first = await decide(world, await ask(world, { appeals: 1 }));
    const last = await decide(world, await appeal(world, first), no);
    const [request, round, committeeHash, decision, relay] = latestOf(last);
    const forged = [
      latestOf(first),
      [{ ...request, consumer: world.oracle.target }, round, committeeHash, decision, relay],
      [request, word(BigInt(round) + 1n), committeeHash, decision, relay],
      [request, round, ZeroHash, decision, relay],
      [request, round, committeeHash, { ...decision, outcome: word(1n) }, relay],
      [request, round, committeeHash, decision, word(BigInt(relay) + 1n)],
    ];
    for (const witness of forged)
      for (const call of [settlement.outcomeOf, settlement.storeOutcome])
        await expect(call(...witness)).to.be.revertedWithCustomError(oracle, "WitnessMismatch");
    expect((await settlement.storedOutcome(request.id)).status).to.equal(Status.None);
  });
});
