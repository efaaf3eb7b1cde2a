import { expect } from "chai";
import hre from "hardhat";

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
  priceGas,
  recordOf,
  type Committed,
} from "../support/contracts/course.ts";
import { equivocation, submitEquivocation } from "../support/contracts/equivocation.ts";
import { Currency, agentOf, unpackRound } from "../support/contracts/typed-data.ts";
import { freeTokens, maxStake, minStake, treasury, unbondingDelay } from "../support/contracts/world.ts";
import {
  allStake,
  fullUnit,
  knownTo,
  overturned,
  play,
  priced,
  secured,
  settle,
  signers,
  signersOf,
  slice,
  stakeOf,
  yes,
  settings,
} from "./utils/secured.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;
const week = 7 * 24 * 3600;
/** What each appellant gets where gas costs enough: a unit. */
const reward = fullUnit;
const gwei = 10n ** 9n;
const { crowded, full, least, many } = settings(ethers);

describe("secured requests", () => {
  it("SC2, SC3, SC4: whoever captures a first committee loses stake, and the two appellants get a part of it", async () => {
    const setting = await loadFixture(full);
    const { world, alice, bob, stranger, slasher } = setting;
    const { registry } = world;
    const committed = await overturned(setting);
    const before = await allStake(world);
    const sent = slasher.submitOverturned(...recordOf(committed), 0, 1, await priceGas(world, gwei));
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
      await setting.slasher.submitOverturned(...recordOf(committed), 0, 1, await priceGas(setting.world, gwei));
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
    let committed = committedBy(world, drawn, decision, await sent.wait());
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

  it("ST5: a sixteenth more than the least stake keeps an agent in the draw after a slice, a twentieth does not", async () => {
    const setting = await loadFixture(least);
    const { world, operator, slasher } = setting;
    const committed = await overturned(setting);
    const [first, second] = signersOf(committed);
    await world.registry.connect(operator).bond(first, minStake / 16n);
    await world.registry.connect(operator).bond(second, minStake / 20n);
    await slasher.submitOverturned(...recordOf(committed), 0, 1);
    const isActive = async (agentId: number): Promise<boolean> => (await world.registry.getAgent(agentId)).active;
    expect([await isActive(first!), await isActive(second!)]).to.deep.equal([true, false]);
  });

  it("SC2: more than a third of the seats of both larger committees were right before they saw the others' answers", async () => {
    const setting = await loadFixture(crowded);
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
    await slasher.submitOverturned(...recordOf(committed), 0, 1, await priceGas(world, gwei));
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

  it("SC4: each appellant gets at most what 100,000 gas cost at the base fee, and both together less than the call does", async () => {
    const setting = await loadFixture(full);
    const { world, alice, bob, slasher } = setting;
    const committed = await overturned(setting);
    // The tip is no part of it: who proposes the block can pay that to itself.
    const baseFee = 10_000n;
    await priceGas(world, baseFee);
    const sent = await slasher.submitOverturned(...recordOf(committed), 0, 1, { gasPrice: gwei });
    const { gasUsed } = (await sent.wait())!;
    const most = 100_000n * baseFee * 10n ** 6n;
    expect(most).to.be.lessThan(reward);
    for (const appellant of [alice, bob]) expect(await world.registry.owedTo(appellant.address)).to.equal(most);
    expect(gasUsed).to.be.greaterThan(2n * 2n * 100_000n);
  });

  it("SC4: both appellants together get no more than what was taken, where a unit is worth more", async () => {
    const setting = await loadFixture(least);
    const { world, alice, bob, slasher } = setting;
    const committed = await settle(world, await play(setting, [no, yes, yes], priced({}, minStake)));
    await slasher.submitOverturned(...recordOf(committed), 0, 1, await priceGas(world, gwei));
    const taken = (signers * minStake) / 20n;
    for (const appellant of [alice, bob]) expect(await world.registry.owedTo(appellant.address)).to.equal(taken / 2n);
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
    await slasher.submitOverturned(...recordOf(await settle(world, committed)), 0, 1, await priceGas(world, gwei));
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
    expect(unbondingDelay).to.equal(2 * week + 2 * 24 * 3600);
  });

  it("SC6: a seat is slashed once for a decision, and an agent once in a week for all of them", async () => {
    const setting = await loadFixture(full);
    const { world, slasher } = setting;
    const { registry } = world;
    const appellant = setting.bob.address;
    const first = await overturned(setting, { duration: week / 5 });
    await slasher.submitOverturned(...recordOf(first), 0, 1, await priceGas(world, gwei));
    // Until a second committee shares one agent that signed with the first.
    let second: Committed;
    let both: number[];
    do {
      second = await overturned(setting, { duration: week / 5 });
      both = signersOf(second).filter((agentId) => signersOf(first).includes(agentId));
    } while (both.length !== 1);
    const proof = [...recordOf(second), 0, 1] as const;
    await slasher.submitOverturned(...proof, await priceGas(world, gwei));
    const left = maxStake - slice;
    for (const agentId of signersOf(second)) expect(await stakeOf(world, agentId)).to.equal(left);
    const owed = reward + (reward * 2n) / 3n;
    expect(await registry.owedTo(appellant)).to.equal(owed);
    await expect(slasher.submitOverturned(...proof))
      .to.be.revertedWithCustomError(slasher, "NobodyToSlash")
      .withArgs(second.request.id, 0);
    await time.increase(week);
    await slasher.submitOverturned(...proof, await priceGas(world, gwei));
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

  it("SE10: liars lose their pay to the appellant, also where the committee that they call after the correction hangs", async () => {
    const lie = { ...no, shares: "0x01000000", reputationChanges: "0x03ff" };
    // Alice makes the first appeal, the liars make the second.
    for (const [last, liars] of [
      [hung, -19n],
      [yes, -38n],
    ] as const) {
      const setting = await loadFixture(full);
      const { world, alice, bob, operator } = setting;
      const { token, oracle, registry } = world;
      const own = async ({ address }: { readonly address: string }): Promise<bigint> =>
        ((await token.balanceOf(address)) as bigint) + ((await oracle.creditOf(address, Currency.Token)) as bigint);
      const before = [await own(alice), await own(bob)] as const;
      const committed = await settle(world, await play(setting, [lie, yes, last]));
      expect((await own(alice)) - before[0]).to.equal(4n * fullUnit);
      expect((await own(bob)) - before[1]).to.equal(liars * fullUnit);
      const [liar, , , honest] = committed.rounds[0]!.committee.map((seat) => Number(agentOf(seat)));
      expect(await registry.rewardsOf(liar, operator.address, Currency.Token)).to.equal(0n);
      expect((await registry.getAgent(honest)).reputation).to.equal(1_000_000n);
    }
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
