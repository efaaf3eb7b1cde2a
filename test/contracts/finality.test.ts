import { expect } from "chai";
import { ZeroAddress, encodeBytes32String } from "ethers";
import hre from "hardhat";

import {
  ask,
  decide,
  decisionFor,
  draw,
  commit,
  fallBackArgs,
  hung,
  latestOf,
  no,
  passDeadline,
  recordOf,
  termsFor,
  type Committed,
} from "../support/contracts/course.ts";
import { Status, unpackRound, type Terms } from "../support/contracts/typed-data.ts";
import { findEvent, findEvents, type World } from "../support/contracts/world.ts";
import { agentsOf, crowd } from "./utils/crowd.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;
const { sixtyAgents } = crowd(ethers);

const sure = { confidence: 900_000 } as const;
const unsure = { confidence: 899_999 } as const;
const sizesOf = ({ rounds }: Committed): number[] => rounds.map(({ committee }) => committee.length);

/** Returns what the seats of each round got, by the events of the settlement. */
async function paidBy(world: World, committed: Committed): Promise<bigint[]> {
  const receipt = (await (await world.settlement.settle(...recordOf(committed))).wait())!;
  return findEvents(world.settlement, receipt, "RoundPaid").map(({ args }) => args[2] as bigint);
}

describe("finality", () => {
  it("SE24: a decision that is sure enough is final at its commit, which settles it and calls back", async () => {
    const { world, oracle, askFor, calls } = await loadFixture(sixtyAgents);
    const committed = await decide(world, await askFor({ appeals: 1, finality: 90 }), sure);
    const { id } = committed.request;
    expect(committed.reopened).to.equal(null);
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 0n, false, false, true]);
    expect(await calls()).to.equal(1n);
    await expect(oracle.appeal(...latestOf(committed)))
      .to.be.revertedWithCustomError(oracle, "DecisionIsFinal")
      .withArgs(id);
  });

  it("SE24: one part per million less calls the larger committee, without an appellant and a bond", async () => {
    const { world, oracle, askFor, calls } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ appeals: 1, finality: 90 }), unsure);
    const { id } = first.request;
    const reopened = findEvent(oracle, first.receipt, "RequestReopened").args;
    expect(reopened.slice(4)).to.deep.equal([ZeroAddress, 0n]);
    expect(unpackRound(first.reopened!.round).appeals).to.equal(1);
    expect(findEvents(oracle, first.receipt, "DecisionProvisional")).to.have.length(0);
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Requested), 1n, false, false, false]);
    await expect(oracle.appeal(...latestOf(first))).to.be.revertedWithCustomError(oracle, "WrongStatus");
    expect(await calls()).to.equal(0n);

    // No appeals are left, so the second decision is final, sure or not.
    const second = await decide(world, first.reopened!, unsure);
    expect(sizesOf(second)).to.deep.equal([4, 9]);
    const agents = second.rounds.flatMap(({ committee }) => agentsOf(committee));
    expect(new Set(agents).size).to.equal(13);
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 1n, false, false, false]);
    expect(await calls()).to.equal(1n);
  });

  it("SE24: stops at the first committee that is sure enough", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ appeals: 2, finality: 90 }), unsure);
    const second = await decide(world, first.reopened!, sure);
    expect(second.reopened).to.equal(null);
    expect(await oracle.statusOf(first.request.id)).to.deep.equal([BigInt(Status.Decided), 1n, false, false, false]);
    expect(await paidBy(world, second)).to.have.length(2);
  });

  it("SE10, SE11: pays an unsure round that stands, and gives the pay of one that is overturned back to the asker", async () => {
    const { world, askFor } = await loadFixture(sixtyAgents);
    const terms = { appeals: 1, finality: 100 };
    const agreed = await decide(world, (await decide(world, await askFor(terms))).reopened!);
    const overturned = await decide(world, (await decide(world, await askFor(terms))).reopened!, no);
    const [stands, wrong] = [await paidBy(world, agreed), await paidBy(world, overturned)];
    expect(stands[0]).to.be.greaterThan(0n);
    expect(wrong).to.deep.equal([0n, stands[1]]);
  });

  it("SE24: a hung committee is retried first, and a larger one follows the last of its size, which is paid for having hung", async () => {
    const { world, askFor } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ appeals: 1, retries: 1, finality: 90 }), hung);
    const second = await decide(world, first.reopened!, hung);
    const third = await decide(world, second.reopened!, sure);
    expect(sizesOf(third)).to.deep.equal([4, 4, 9]);
    const paid = await paidBy(world, third);
    expect(paid[0]).to.be.greaterThan(0n).and.to.equal(paid[1]);
  });

  it("SE8: ends as hung where nobody answers for the larger committee", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const { reopened } = await decide(world, await askFor({ appeals: 1, finality: 90 }), unsure);
    await passDeadline(world, reopened!.round);
    await expect(oracle.fallBack(...fallBackArgs(reopened!)))
      .to.emit(oracle, "AttemptUnanswered")
      .withArgs(reopened!.request.id, 1, ZeroAddress, 0n);
    expect((await oracle.statusOf(reopened!.request.id))[0]).to.equal(BigInt(Status.Hung));
  });

  for (const finality of [1, 50, 99, 100])
    it(`SE24: ${finality} percent are exactly ${finality} percent`, async () => {
      const { world, askFor } = await loadFixture(sixtyAgents);
      const asked = await askFor({ appeals: 1, finality });
      const drawn = await draw(world, asked);
      const snapshot = await networkHelpers.takeSnapshot();
      for (const [confidence, larger] of [
        [finality * 10_000, false],
        [finality * 10_000 - 1, true],
        [0, true],
        [1_000_000, false],
      ] as const) {
        const { reopened } = await commit(world, drawn, decisionFor(drawn, { confidence }));
        expect(reopened !== null, `${confidence}`).to.equal(larger);
        await snapshot.restore();
      }
    });

  it("SE24, SC1: terms have at most 100 percent, and no security beside it", async () => {
    const { world, oracle } = await loadFixture(sixtyAgents);
    const secured: Partial<Terms> = { appeals: 2, assurance: 1, security: 1, duration: 3_600 };
    for (const [terms, field, value] of [
      [{ finality: 101, appeals: 1 }, "finality", 101],
      [{ finality: 255, appeals: 1 }, "finality", 255],
      [{ finality: 90, ...secured }, "security", 1],
    ] as const)
      await expect(ask(world, termsFor(terms)))
        .to.be.revertedWithCustomError(oracle, "InvalidTerms")
        .withArgs(encodeBytes32String(field), value);
    await ask(world, termsFor({ finality: 0, ...secured }));
  });
});
