import { expect } from "chai";
import { ZeroAddress, ZeroHash } from "ethers";
import hre from "hardhat";

import {
  bondOf,
  commit,
  decide,
  draw,
  fallBackArgs,
  givenUp,
  hung,
  latestOf,
  no,
  packDecided,
  passDeadline,
  pastOf,
  recordOf,
  refundArgs,
  replace,
} from "../support/contracts/course.ts";
import { Currency, Status, packRound, unpackRound } from "../support/contracts/typed-data.ts";
import { findEvent, findEvents, mineSeed, nextEpoch } from "../support/contracts/world.ts";
import { agentsOf, crowd } from "./utils/crowd.ts";
import { currencies } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;
const { sixtyAgents, deadlineOf } = crowd(ethers);

describe("a committee that does not answer in time", () => {
  for (const isDrawn of [false, true]) {
    it(`SE8: can be replaced by anybody ${isDrawn ? "after" : "before"} the draw while retries are left`, async () => {
      const { world, oracle, stranger, askFor, calls } = await loadFixture(sixtyAgents);
      const asked = await askFor({ retries: 1 });
      const { id } = asked.request;
      const running = isDrawn ? await draw(world, asked) : asked;
      const { deadline } = unpackRound(asked.round);
      const [request, round, witness] = refundArgs(running);
      await time.setNextBlockTimestamp(deadline);
      await expect(oracle.replace(request, round, witness))
        .to.be.revertedWithCustomError(oracle, "DeadlineNotPassed")
        .withArgs(id, deadline);
      await passDeadline(world, round);
      await expect(oracle.refund(request, round, witness))
        .to.be.revertedWithCustomError(oracle, "RetriesLeft")
        .withArgs(id);
      for (const wrong of ["0x", `${witness}00`]) {
        await expect(oracle.replace(request, round, wrong)).to.be.revertedWithCustomError(oracle, "WitnessMismatch");
      }
      const second = await replace({ ...world, oracle: oracle.connect(stranger) }, running);
      const next = packRound({ link: 0n, appeals: 0, deadline: await deadlineOf(second) });
      expect([...findEvent(oracle, second.receipt, "RequestReopened").args]).to.deep.equal([
        id,
        1n,
        BigInt(next),
        second.seedBlock,
        ZeroAddress,
        0n,
      ]);
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Requested), 1n, false, false, false]);
      await expect(oracle.replace(request, round, witness)).to.be.revertedWithCustomError(oracle, "WitnessMismatch");

      const drawn = await draw(world, second);
      expect(drawn.committee).to.have.length(4);
      const committed = await commit(world, drawn);
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 1n, false, false, false]);
      expect(await calls()).to.equal(1n);
      await world.settlement.settle(...recordOf(committed));
    });
  }

  it("SE8: shares its retries with hung committees; after the last one the fee is refunded", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const first = await replace(world, await draw(world, await askFor({ retries: 2 })));
    const { reopened } = await decide(world, first, hung);
    expect(reopened!.attempt).to.equal(2);
    await passDeadline(world, reopened!.round);
    await expect(oracle.replace(...refundArgs(reopened!)))
      .to.be.revertedWithCustomError(oracle, "NoRetriesLeft")
      .withArgs(first.request.id);
    await oracle.fallBack(...fallBackArgs(reopened!));

    const silent = await replace(world, await replace(world, await askFor({ retries: 2 })));
    expect(silent.attempt).to.equal(2);
    await passDeadline(world, silent.round);
    await expect(oracle.replace(...refundArgs(silent))).to.be.revertedWithCustomError(oracle, "NoRetriesLeft");
    await expect(oracle.refund(...refundArgs(silent)))
      .to.emit(oracle, "FeeRefunded")
      .withArgs(silent.request.id, silent.request.consumer, 10n ** 18n);
  });

  it("SE8: does not change the earlier rounds after an appeal", async () => {
    const { world, oracle, askFor, appealed } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ appeals: 2, retries: 2 }));
    const silent = await draw(world, await appealed(first));
    await passDeadline(world, silent.round);
    await expect(oracle.fallBack(...fallBackArgs(silent)))
      .to.be.revertedWithCustomError(oracle, "RetriesLeft")
      .withArgs(first.request.id);
    const second = await replace(world, silent);
    const fields = unpackRound(silent.round);
    expect(unpackRound(second.round)).to.deep.equal({ ...fields, deadline: await deadlineOf(second) });
    const overturning = await decide(world, second, no);
    expect(overturning.rounds.map(({ committee }) => committee.length)).to.deep.equal([4, 9]);
    // The second appeal has the one retry that is left: attempts 3 and 4.
    const last = await replace(world, await appealed(overturning));
    expect(last.attempt).to.equal(4);
    await passDeadline(world, last.round);
    await expect(oracle.replace(...refundArgs(last))).to.be.revertedWithCustomError(oracle, "NoRetriesLeft");
    await oracle.fallBack(...fallBackArgs(last));
    await world.settlement.settle(...recordOf(givenUp(last)));
    expect((await oracle.statusOf(first.request.id)).settled).to.be.true;
  });

  it("SE8: can be drawn again, since nothing proves that it was silent", async () => {
    const { world, askFor } = await loadFixture(sixtyAgents);
    for (let agent = 5n; agent <= 60n; agent++) await world.registry.startUnbonding(agent, 16n * 10n ** 18n);
    await nextEpoch(world);
    const silent = await draw(world, await askFor({ retries: 1 }));
    const again = await draw(world, await replace(world, silent));
    expect(new Set(agentsOf(again.committee))).to.deep.equal(new Set(agentsOf(silent.committee)));
  });

  it("SE8: cannot be replaced once its decision is on record", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const drawn = await draw(world, await askFor({ retries: 1, appeals: 1 }));
    await commit(world, drawn);
    await passDeadline(world, drawn.round);
    await expect(oracle.replace(...refundArgs(drawn)))
      .to.be.revertedWithCustomError(oracle, "WrongStatus")
      .withArgs(drawn.request.id, Status.Decided);
  });
});

describe("an attempt that nobody answers", () => {
  it("SE8: cannot fall back in the first round, and cannot be refunded in a later one", async () => {
    const { world, oracle, askFor, appealed } = await loadFixture(sixtyAgents);
    const committed = await decide(world, await askFor({ appeals: 1 }));
    const later = await appealed(committed);
    const first = await draw(world, await askFor({ appeals: 1 }));
    await expect(oracle.fallBack(...fallBackArgs(later))).to.be.revertedWithCustomError(oracle, "DeadlineNotPassed");
    await passDeadline(world, first.round);
    await expect(oracle.refund(...refundArgs(later)))
      .to.be.revertedWithCustomError(oracle, "HasEarlierDecision")
      .withArgs(later.request.id);
    await expect(oracle.fallBack(...refundArgs(first), packDecided(committed.rounds[0]!)))
      .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
      .withArgs(first.request.id);
    await expect(oracle.refund(...refundArgs(first)))
      .to.emit(oracle, "FeeRefunded")
      .withArgs(first.request.id, first.request.consumer, 10n ** 18n);
  });

  for (const currency of currencies) {
    for (const isDrawn of [false, true]) {
      const [name, stage] = [currency === Currency.Token ? "tokens" : "coins", isDrawn ? "after" : "before"];

      it(`SE8: of an appeal in ${name} ${stage} the draw keeps the earlier decision and returns the bond`, async () => {
        const { world, oracle, appellant, stranger, askFor, appealed, calls } = await loadFixture(sixtyAgents);
        const committed = await decide(world, await askFor({ appeals: 2, currency }));
        const { id } = committed.request;
        const bond = await bondOf(world, committed);
        const reopened = await appealed(committed);
        const running = isDrawn ? await draw(world, reopened) : reopened;
        await passDeadline(world, running.round);
        const [request, round, witness, last] = fallBackArgs(running);
        for (const wrong of [
          { ...last, appellant: stranger.address },
          { ...last, relay: ZeroHash },
          { ...last, round },
          { ...last, committee: last.committee.toReversed() },
          { ...last, decision: { ...last.decision, outcome: ZeroHash } },
        ]) {
          await expect(oracle.fallBack(request, round, witness, wrong))
            .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
            .withArgs(id);
        }
        await expect(oracle.connect(stranger).fallBack(request, round, witness, last))
          .to.emit(oracle, "AppealUnanswered")
          .withArgs(id, appellant.address, bond)
          .and.to.emit(oracle, "DecisionFinalized")
          .withArgs(id, 0);
        expect(await oracle.creditOf(appellant.address, currency)).to.equal(bond);
        expect(await calls()).to.equal(1n);
        // Evidence about the given-up committee still names an attempt that was drawn.
        const attempt = isDrawn ? 1n : 0n;
        expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), attempt, false, false, false]);
        await expect(oracle.fallBack(request, round, witness, last))
          .to.be.revertedWithCustomError(oracle, "WrongStatus")
          .withArgs(id, Status.Decided);
        await world.settlement.settle(...recordOf(givenUp(running)));
        expect((await oracle.statusOf(id)).settled).to.be.true;
      });
    }
  }

  it("SE8: of a retry leaves the request hung", async () => {
    const { world, oracle, askFor, calls } = await loadFixture(sixtyAgents);
    const { reopened } = await decide(world, await askFor({ retries: 1 }), hung);
    const running = await draw(world, reopened!);
    await passDeadline(world, running.round);
    const sent = await oracle.fallBack(...fallBackArgs(running));
    const receipt = (await sent.wait())!;
    expect(findEvents(oracle, receipt, "AppealUnanswered")).to.have.length(0);
    expect(findEvent(oracle, receipt, "DecisionFinalized").args["attempt"]).to.equal(0n);
    const state = await oracle.statusOf(running.request.id);
    expect(state).to.deep.equal([BigInt(Status.Hung), 1n, false, false, false]);
    expect(await calls()).to.equal(1n);
    await expect(oracle.retryCallback(...latestOf(givenUp(running)))).to.be.revertedWithCustomError(
      oracle,
      "CallbackNotPending",
    );
  });

  it("SE8: also falls back when too few agents are left", async () => {
    const { world, oracle, appealed, askFor } = await loadFixture(sixtyAgents);
    const { registry } = world;
    // Eight agents remain.
    for (let agent = 9n; agent <= 60n; agent++) await registry.startUnbonding(agent, 16n * 10n ** 18n);
    const asked = await askFor({ appeals: 1 });
    const running = await appealed(await decide(world, asked));
    const header = await mineSeed(world, running.seedBlock);
    await expect(oracle.draw(running.request, running.round, running.seedBlock, header, pastOf(running)))
      .to.be.revertedWithCustomError(registry, "TooFewAgents")
      .withArgs(8, 9);
    await passDeadline(world, running.round);
    await oracle.fallBack(...fallBackArgs(running));
    const state = await oracle.statusOf(running.request.id);
    expect(state).to.deep.equal([BigInt(Status.Decided), 0n, false, false, false]);
  });
});
