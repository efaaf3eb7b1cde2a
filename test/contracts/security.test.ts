import { expect } from "chai";
import hre from "hardhat";
import { hexlify } from "ethers";

import {
  appeal,
  ask,
  bondOf,
  commitArgs,
  committedBy,
  decide,
  decisionFor,
  draw,
  fallBackArgs,
  firstSeats,
  hung,
  latestOf,
  no,
  passDeadline,
  recordOf,
  termsFor,
  type Committed,
} from "../support/contracts/course.ts";
import { equivocation, submitEquivocation } from "../support/contracts/equivocation.ts";
import { Currency, agentOf, unpackRound, type SignedDecision, type Terms } from "../support/contracts/typed-data.ts";
import {
  deployWorld,
  freeTokens,
  maxStake,
  minStake,
  registerAgents,
  treasury,
  unbondingDelay,
  type World,
} from "../support/contracts/world.ts";
import { mostUnits } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;

const week = 7 * 24 * 3600;
const secured = { security: 1, assurance: 1, appeals: 2 } as const;
const yes = {};
/** A quorum of the first four seats signs. */
const signers = 3n;
/** A twentieth of the stake. */
const slice = maxStake / 20n;
/** The price of a unit of pay, of which 200 are a twentieth of the greatest stake. */
const fullUnit = slice / 200n;
/** What each appellant gets: a unit. */
const reward = fullUnit;

/** Yes of a committee where so many seats earned by it, one was absent, and the others were wrong at first. */
const knownTo = (size: number, paid: number): Partial<SignedDecision> => ({
  shares: hexlify(Uint8Array.from({ length: size }, (_, seat) => (seat < paid ? 30 : seat === paid ? 255 : 0))),
});

/** Makes as many agents as four seats and two appeals need. Alice appeals first, Bob second; a stranger reports. */
async function makeAgents(count: number, stake: bigint) {
  const world = await deployWorld(ethers);
  const { oracle, token, registry } = world;
  const [, operator, alice, bob, stranger] = await ethers.getSigners();
  await token.mint(operator!.address, 10n ** 24n);
  await token.connect(operator!).approve(registry.target, 10n ** 24n);
  await registerAgents(world, count, { operator: operator!, stake });
  for (const account of [alice!, bob!, operator!]) {
    await token.mint(account.address, 10n ** 24n);
    await token.connect(account).approve(oracle.target, 10n ** 24n);
  }
  const slasher = world.slasher.connect(stranger!);
  return { world, operator: operator!, alice: alice!, bob: bob!, stranger: stranger!, slasher };
}
const full = () => makeAgents(32, maxStake);
const least = () => makeAgents(32, minStake);
const many = () => makeAgents(71, maxStake);

/** Secured terms at the price of a unit; without a list the whole fee is pay. */
function priced(overrides: Partial<Terms> = {}, unit = fullUnit): Terms {
  const terms = termsFor({ ...secured, ...overrides });
  return { ...terms, fee: unit * mostUnits(terms) };
}

type Setting = Awaited<ReturnType<typeof makeAgents>>;

/** Lets committees decide so, one after the other: an account appeals against each decision but the last. */
async function play(
  { world, alice, bob }: Setting,
  decisions: readonly Partial<SignedDecision>[],
  terms: Partial<Terms> = {},
  appellants = [alice, bob, alice],
): Promise<Committed> {
  let committed = await decide(world, await ask(world, "fee" in terms ? termsFor(terms) : priced(terms)), decisions[0]);
  let appeals = 0;
  for (const decision of decisions.slice(1)) {
    const next = committed.reopened ?? (await appeal(world, committed, world.oracle.connect(appellants[appeals++]!)));
    committed = await decide(world, next, decision);
  }
  return committed;
}

async function settle(world: World, committed: Committed): Promise<Committed> {
  await world.settlement.settle(...recordOf(committed));
  return committed;
}

const overturned = async (setting: Setting, terms: Partial<Terms> = {}): Promise<Committed> =>
  settle(setting.world, await play(setting, [no, yes, yes], terms));

/** The agents that signed a round. */
const signersOf = (committed: Committed, round = 0): number[] =>
  committed.rounds[round]!.committee.slice(0, Number(signers)).map((seat) => Number(agentOf(seat)));

const stakeOf = async ({ registry }: World, agentId: number): Promise<bigint> => {
  const { bonded, unbonding } = await registry.getAgent(agentId);
  return (bonded.assets as bigint) + (unbonding.assets as bigint);
};

/** The stake of all agents. */
async function allStake(world: World): Promise<bigint> {
  const count = Number(await world.registry.agentCount());
  let sum = 0n;
  for (let agentId = 1; agentId <= count; agentId++) sum += await stakeOf(world, agentId);
  return sum;
}

describe("secured requests", () => {
  it("SC2, SC3, SC4: whoever captures a first committee loses stake, and the two appellants get a part of it", async () => {
    const setting = await loadFixture(full);
    const { world, alice, bob, stranger, slasher } = setting;
    const { registry } = world;
    const committed = await overturned(setting);
    const before = await allStake(world);
    const sent = slasher.submitOverturned(...recordOf(committed), 0, 1);
    for (const agentId of signersOf(committed)) {
      await expect(sent)
        .to.emit(slasher, "DecisionOverturned")
        .withArgs(agentId, committed.request.id, alice.address, 0)
        .and.to.emit(registry, "StakeSlashed")
        .withArgs(agentId, alice.address, slice, 0n, 0n);
      expect(await stakeOf(world, agentId)).to.equal(maxStake - slice);
    }
    expect(before - (await allStake(world))).to.equal(signers * slice);
    for (const appellant of [alice, bob]) {
      await expect(sent).to.emit(registry, "AppellantRewarded").withArgs(appellant.address, reward);
      expect(await registry.owedTo(appellant.address)).to.equal(reward);
    }
    expect(await registry.owedTo(stranger.address)).to.equal(0n);
    expect(await registry.owedTo(treasury)).to.equal(signers * slice - 2n * reward);
    await registry.connect(bob).claim(bob.address);
  });

  for (const [name, world, part, lost] of [
    ["a twentieth of the least stake, where that is less", least, 1n, minStake / 20n],
    ["200 units of pay, where that is less", full, 4n, slice / 4n],
    ["200 units of pay, in parts per million of the stake, rounded down", full, 3n, (maxStake / 1_000_000n) * 16_666n],
  ] as const)
    it(`SC3: each seat that signed loses ${name}`, async () => {
      const setting = await loadFixture(world);
      const unit = fullUnit / part;
      const committed = await settle(setting.world, await play(setting, [no, yes, yes], priced({}, unit)));
      const before = await stakeOf(setting.world, signersOf(committed)[0]!);
      await setting.slasher.submitOverturned(...recordOf(committed), 0, 1);
      for (const agentId of signersOf(committed))
        expect(before - (await stakeOf(setting.world, agentId))).to.equal(lost);
      const { registry } = setting.world;
      const owed = (await registry.owedTo(setting.alice.address)) as bigint;
      expect(owed).to.equal(unit);
    });

  it("SC3: all seats lose it whose signatures are sent, if they are more than a quorum", async () => {
    const setting = await loadFixture(full);
    const { world, alice, bob } = setting;
    const drawn = await draw(world, await ask(world, priced()));
    const decision = decisionFor(drawn, no);
    const sent = await world.oracle.commit(...commitArgs(world, drawn, decision, firstSeats(4, 4)));
    let committed = committedBy(world, drawn, decision, (await sent.wait())!);
    for (const by of [alice, bob])
      committed = await decide(world, await appeal(world, committed, world.oracle.connect(by)), yes);
    await setting.slasher.submitOverturned(...recordOf(await settle(world, committed)), 0, 1);
    for (const seat of drawn.committee) expect(await stakeOf(world, Number(agentOf(seat)))).to.equal(maxStake - slice);
  });

  it("ST5: a slice takes an agent out of the draw whose operator has no more than the least stake, until it bonds again", async () => {
    const setting = await loadFixture(least);
    const { world, operator, slasher } = setting;
    const committed = await overturned(setting);
    await slasher.submitOverturned(...recordOf(committed), 0, 1);
    const isActive = async (agentId: number): Promise<boolean> => (await world.registry.getAgent(agentId)).active;
    const [first, second] = signersOf(committed);
    expect([await isActive(first!), await isActive(second!)]).to.deep.equal([false, false]);
    await world.registry.connect(operator).bond(first, minStake / 20n);
    expect([await isActive(first!), await isActive(second!)]).to.deep.equal([true, false]);
  });

  it("SC2: more than a third of the seats of both larger committees were right before they saw the others' answers", async () => {
    const setting = await loadFixture(full);
    const committed = await settle(setting.world, await play(setting, [no, knownTo(9, 4), knownTo(19, 7)]));
    await setting.slasher.submitOverturned(...recordOf(committed), 0, 1);
  });

  it("SC3: what an asker pays above twice the list does not raise what seats lose", async () => {
    const setting = await loadFixture(full);
    const { world } = setting;
    const unit = fullUnit / 16n;
    await world.oracle.setPrices(Currency.Token, { ...freeTokens, unitPrice: unit });
    const committed = await settle(world, await play(setting, [no, yes, yes], priced({}, 8n * unit)));
    await setting.slasher.submitOverturned(...recordOf(committed), 0, 1);
    for (const agentId of signersOf(committed)) expect(await stakeOf(world, agentId)).to.equal(maxStake - slice / 8n);
  });

  it("SC3: nobody loses stake for a request that pays nothing", async () => {
    const setting = await loadFixture(full);
    const committed = await settle(setting.world, await play(setting, [no, yes, yes], { ...secured, fee: 0n }));
    await expect(setting.slasher.submitOverturned(...recordOf(committed), 0, 1)).to.be.revertedWithCustomError(
      setting.slasher,
      "NobodyToSlash",
    );
  });

  it("SC2: a hung committee between them says nothing", async () => {
    const setting = await loadFixture(many);
    const { world, slasher } = setting;
    const committed = await settle(world, await play(setting, [no, yes, hung, yes], { retries: 1 }));
    await slasher.submitOverturned(...recordOf(committed), 0, 1);
    // Bob's appeal called the committee that hung and the one that replaced it.
    expect(await world.registry.owedTo(setting.bob.address)).to.equal(reward);
  });

  it("SC2: nothing is overturned if nobody answers an appeal against the last decision", async () => {
    const setting = await loadFixture(many);
    const { world, alice, slasher } = setting;
    const committed = await play(setting, [no, yes, yes], { appeals: 3 });
    const unanswered = await appeal(world, committed, world.oracle.connect(alice));
    await passDeadline(world, unanswered.round);
    await world.oracle.fallBack(...fallBackArgs(unanswered));
    await settle(world, committed);
    await expect(slasher.submitOverturned(...recordOf(committed), 0, 1))
      .to.be.revertedWithCustomError(slasher, "NotOverturned")
      .withArgs(committed.request.id);
  });

  it("SC4: whoever the operators are by now, the reward stays the same", async () => {
    const setting = await loadFixture(least);
    const { world, operator, stranger, slasher } = setting;
    const committed = await play(setting, [no, yes, yes], {}, [operator, operator]);
    const [first] = signersOf(committed);
    await world.registry.connect(operator).transferOperator(first, stranger.address);
    await world.token.mint(stranger.address, minStake);
    await world.token.connect(stranger).approve(world.registry.target, minStake);
    await world.registry.connect(stranger).bond(first, minStake);
    await world.registry.connect(stranger).acceptOperator(first);
    await slasher.submitOverturned(...recordOf(await settle(world, committed)), 0, 1);
    expect(await world.registry.owedTo(operator.address)).to.equal(2n * reward);
    expect(2n * minStake - (await stakeOf(world, first!))).to.equal((2n * minStake) / 20n);
  });

  it("SC5: stake that began to leave when its agent was drawn is there until the time is over", async () => {
    const setting = await loadFixture(full);
    const { world, operator, slasher } = setting;
    const { registry } = world;
    const duration = week / 5;
    let committed = await decide(world, await ask(world, priced({ duration })), no);
    const shares = (await registry.positionOf(signersOf(committed)[0]!, operator.address)).shares as bigint;
    for (const agentId of signersOf(committed)) await registry.connect(operator).startUnbonding(agentId, shares);
    for (const by of [setting.alice, setting.bob]) {
      await time.increaseTo(unpackRound(committed.rounds.at(-1)!.round).deadline - 600);
      committed = await decide(world, await appeal(world, committed, world.oracle.connect(by)), yes);
    }
    await settle(world, committed);
    const end = unpackRound(committed.rounds.at(-1)!.round).deadline + week;
    await time.increaseTo(end - 10);
    for (const agentId of signersOf(committed))
      await expect(registry.connect(operator).withdrawStake(agentId, operator.address)).to.be.revertedWithCustomError(
        registry,
        "StillUnbonding",
      );
    await time.setNextBlockTimestamp(end + 1);
    await expect(slasher.submitOverturned(...recordOf(committed), 0, 1))
      .to.be.revertedWithCustomError(slasher, "EvidenceTooLate")
      .withArgs(committed.request.id, end);
  });

  it("SC5: slashes the unbonding stake until the last second", async () => {
    const setting = await loadFixture(full);
    const { world, operator, slasher } = setting;
    const committed = await overturned(setting);
    const [first] = signersOf(committed);
    await world.registry.connect(operator).startUnbonding(first, maxStake);
    await time.setNextBlockTimestamp(unpackRound(committed.rounds.at(-1)!.round).deadline + week);
    await slasher.submitOverturned(...recordOf(committed), 0, 1);
    expect(await stakeOf(world, first!)).to.equal(maxStake - slice);
    expect(unbondingDelay).to.equal(2 * week);
  });

  it("SC6: a seat is slashed once for a decision, and an agent once in a week for all of them", async () => {
    const setting = await loadFixture(full);
    const { world, slasher } = setting;
    const { registry } = world;
    const appellant = setting.bob.address;
    const first = await overturned(setting, { duration: week / 5 });
    await slasher.submitOverturned(...recordOf(first), 0, 1);
    // Until a second committee shares one agent that signed with the first.
    let second: Committed;
    let both: number[];
    do {
      second = await overturned(setting, { duration: week / 5 });
      both = signersOf(second).filter((agentId) => signersOf(first).includes(agentId));
    } while (both.length !== 1);
    const proof = [...recordOf(second), 0, 1] as const;
    await slasher.submitOverturned(...proof);
    const left = maxStake - slice;
    for (const agentId of signersOf(second)) expect(await stakeOf(world, agentId)).to.equal(left);
    const owed = reward + (reward * 2n) / 3n;
    expect(await registry.owedTo(appellant)).to.equal(owed);
    await expect(slasher.submitOverturned(...proof))
      .to.be.revertedWithCustomError(slasher, "NobodyToSlash")
      .withArgs(second.request.id, 0);
    await time.increase(week);
    await slasher.submitOverturned(...proof);
    expect(await stakeOf(world, both[0]!)).to.equal(left - left / 20n);
    // Both calls together pay what one would have paid.
    expect(await registry.owedTo(appellant)).to.equal(owed + reward / 3n);
    await expect(slasher.submitOverturned(...proof)).to.be.revertedWithCustomError(slasher, "NobodyToSlash");
  });

  it("SC6: what a seat signed twice and what it certified cost stake in one week, in either order", async () => {
    const setting = await loadFixture(full);
    const { world, slasher } = setting;
    const committed = await overturned(setting, { duration: week / 5 });
    const [first, second] = signersOf(committed);
    await submitEquivocation(world, equivocation(world, committed, { index: 0, seat: 0 }));
    expect(await stakeOf(world, first!)).to.equal((maxStake * 9n) / 10n);
    await slasher.submitOverturned(...recordOf(committed), 0, 1);
    expect(await stakeOf(world, first!)).to.equal((((maxStake * 9n) / 10n) * 19n) / 20n);
    // A slice that its operator brought about does not shield an agent that signs two things.
    await submitEquivocation(world, equivocation(world, committed, { index: 0, seat: 1 }));
    expect(await stakeOf(world, second!)).to.equal(((maxStake - slice) * 9n) / 10n);
    expect(await slasher.isConsumed(second, committed.request.id, 0)).to.equal(true);
  });

  describe("slash nobody", () => {
    /** Fails unless the call is refused so and no agent has lost anything. */
    async function refused(
      { world, slasher }: Setting,
      committed: Committed,
      error: string,
      [first, second]: readonly [number, number] = [0, 1],
    ): Promise<void> {
      const before = await allStake(world);
      await expect(slasher.submitOverturned(...recordOf(committed), first, second)).to.be.revertedWithCustomError(
        error === "WitnessMismatch" ? world.oracle : slasher,
        error,
      );
      expect(await allStake(world)).to.equal(before);
    }

    it("SC1: where the terms ask for no security", async () => {
      const setting = await loadFixture(full);
      await refused(setting, await overturned(setting, { security: 0 }), "NotSecured");
    });

    it("SC2: before the request is settled, or while its decision is provisional", async () => {
      const setting = await loadFixture(full);
      await refused(setting, await play(setting, [no, yes]), "NotSettled");
      await refused(setting, await play(setting, [no, yes, yes]), "NotSettled");
    });

    it("SC2: by another record than the oracle's", async () => {
      const setting = await loadFixture(full);
      const committed = await overturned(setting);
      const [first, ...others] = committed.rounds;
      const forged = { ...first!, decision: { ...first!.decision, confidence: 1 } };
      await refused(setting, { ...committed, rounds: [forged, ...others] }, "WitnessMismatch");
      await refused(setting, { ...committed, rounds: others }, "WitnessMismatch");
      await refused(setting, { ...committed, rounds: [] }, "WitnessMismatch");
      // The bitmap of the signers is a part of the record.
      const everybody = { ...first!, relay: `0x${"f".repeat(16)}${first!.relay.slice(18)}` };
      await refused(setting, { ...committed, rounds: [everybody, ...others] }, "WitnessMismatch");
    });

    it("SC2: for a decision that stands", async () => {
      const setting = await loadFixture(full);
      const { world } = setting;
      await refused(setting, await settle(world, await play(setting, [yes, yes, yes])), "NotOverturned");
      // A wrong committee in between does not make it fall.
      await refused(setting, await settle(world, await play(setting, [yes, no, yes])), "NotOverturned");
    });

    it("SC2: if one larger committee overturned the decision, and the largest agreed with it or hung", async () => {
      const setting = await loadFixture(full);
      const { world } = setting;
      await refused(setting, await settle(world, await play(setting, [no, yes, no])), "NotOverturned");
      await refused(setting, await settle(world, await play(setting, [no, yes, hung])), "NotOverturned");
      await refused(setting, await settle(world, await play(setting, [no, hung, yes])), "NotOverturned");
      // Nobody made the second appeal.
      const once = await play(setting, [no, yes]);
      await passDeadline(world, once.rounds.at(-1)!.round);
      await world.oracle.finalize(...latestOf(once));
      await refused(setting, await settle(world, once), "NotOverturned");
    });

    it("SC2: for a committee that hung", async () => {
      const setting = await loadFixture(full);
      await refused(setting, await settle(setting.world, await play(setting, [hung, yes, yes])), "NotOverturned");
    });

    it("SC2: if the two larger committees do not agree with each other", async () => {
      const setting = await loadFixture(full);
      const answers = [0n, 20n, 40n].map((value) => ({ outcome: `0x${value.toString(16).padStart(64, "0")}` }));
      const number = { kind: 2, tolerance: 10 };
      await refused(setting, await settle(setting.world, await play(setting, answers, number)), "NotOverturned");
    });

    it("SC2: if one of the two is within the tolerance of the decision", async () => {
      const setting = await loadFixture(full);
      const answers = [0n, 10n, 20n].map((value) => ({ outcome: `0x${value.toString(16).padStart(64, "0")}` }));
      const number = { kind: 2, tolerance: 10 };
      await refused(setting, await settle(setting.world, await play(setting, answers, number)), "NotOverturned");
    });

    for (const [name, answers] of [
      ["the committee between them", [knownTo(9, 3), knownTo(19, 7)]],
      ["the last committee", [knownTo(9, 4), knownTo(19, 6)]],
      ["either: nobody could know the answer, or the asker alone", [knownTo(9, 0), knownTo(19, 1)]],
    ] as const)
      it(`SC2: if no more than a third of the seats earned by the decision, of ${name}`, async () => {
        const setting = await loadFixture(full);
        await refused(setting, await settle(setting.world, await play(setting, [no, ...answers])), "NotOverturned");
      });

    it("SC2: by rounds that are not in their order, or of equal size", async () => {
      const setting = await loadFixture(many);
      const { world } = setting;
      const committed = await settle(world, await play(setting, [hung, no, yes, yes], { retries: 1 }));
      for (const pair of [
        [0, 1],
        [0, 2],
        [1, 1],
        [1, 3],
        [2, 1],
        [3, 2],
        [1, 2 ** 40],
      ] as const)
        await refused(setting, committed, "NotOverturned", pair);
      await setting.slasher.submitOverturned(...recordOf(committed), 1, 2);
    });

    it("SC2: if a committee between them agreed with the decision", async () => {
      const setting = await loadFixture(many);
      const committed = await settle(setting.world, await play(setting, [no, yes, no, yes], { appeals: 3 }));
      for (const pair of [
        [0, 1],
        [0, 2],
        [1, 2],
        [2, 1],
      ] as const)
        await refused(setting, committed, "NotOverturned", pair);
    });

    it("SC2: if committees share an agent", async () => {
      const setting = await loadFixture(full);
      const { world, operator, alice, bob } = setting;
      const first = await decide(world, await ask(world, priced()), no);
      const seated = new Set(first.rounds[0]!.committee.map((seat) => Number(agentOf(seat))));
      const outside = [...Array(32).keys()].map((index) => index + 1).find((agentId) => !seated.has(agentId));
      // One agent fewer than seats: the committee of the second appeal takes an earlier agent.
      await world.registry.connect(operator).startUnbonding(outside, maxStake);
      await networkHelpers.mine(40);
      const second = await decide(world, await appeal(world, first, world.oracle.connect(alice)), yes);
      const third = await decide(world, await appeal(world, second, world.oracle.connect(bob)), yes);
      await refused(setting, await settle(world, third), "NotOverturned");
    });
  });

  it("M6: an appeal whose committee hangs gives the bond back less what the committee earned", async () => {
    const setting = await loadFixture(full);
    const { world, alice } = setting;
    // A unit costs 1.
    const first = await decide(world, await ask(world, priced({}, 1n)), no);
    const bond = await bondOf(world, first);
    expect(bond).to.equal(18n);
    const second = await decide(world, await appeal(world, first, world.oracle.connect(alice)), hung);
    await passDeadline(world, second.rounds.at(-1)!.round);
    await world.oracle.finalize(...latestOf(second));
    await settle(world, second);
    expect(await world.oracle.creditOf(alice.address, Currency.Token)).to.equal(bond - 9n);
  });
});
