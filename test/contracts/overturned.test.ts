import { expect } from "chai";
import hre from "hardhat";

import {
  appeal,
  ask,
  decide,
  hung,
  latestOf,
  no,
  passDeadline,
  recordOf,
  type Committed,
} from "../support/contracts/course.ts";
import { agentOf } from "../support/contracts/typed-data.ts";
import { maxStake } from "../support/contracts/world.ts";
import { allStake, knownTo, overturned, play, priced, settle, type Setting, yes, settings } from "./utils/secured.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;
const { crowded, full, many } = settings(ethers);

describe("secured requests that slash nobody", () => {
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
      const setting = await loadFixture(crowded);
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

  it("SC2: if all but six of the last committee's 19 agents sit again; with seven that are new they lose stake", async () => {
    const setting = await loadFixture(full);
    const { world, operator, alice, bob, slasher } = setting;
    const first = await decide(world, await ask(world, priced()), no);
    const second = await decide(world, await appeal(world, first, world.oracle.connect(alice)), yes);
    const seated = new Set(second.rounds.flatMap(({ committee }) => committee.map((seat) => Number(agentOf(seat)))));
    const outside = [...Array(32).keys()].map((index) => index + 1).filter((agentId) => !seated.has(agentId));
    const leave = async (agents: readonly number[]) => {
      for (const agentId of agents) await world.registry.connect(operator).startUnbonding(agentId, maxStake);
      await networkHelpers.mine(40);
    };
    const finish = async () =>
      settle(world, await decide(world, await appeal(world, second, world.oracle.connect(bob)), yes));
    await leave(outside.slice(7));
    const snapshot = await networkHelpers.takeSnapshot();
    const before = await allStake(world);
    await slasher.submitOverturned(...recordOf(await finish()), 0, 1);
    expect(await allStake(world)).to.be.below(before);
    await snapshot.restore();
    await leave([outside[6]!]);
    await refused(setting, await finish(), "NotOverturned");
  });
});
