import { expect } from "chai";
import { ZeroAddress, ZeroHash } from "ethers";
import hre from "hardhat";

import {
  ask,
  bondOf,
  commit,
  commitArgs,
  decide,
  decisionFor,
  draw,
  fallBackArgs,
  givenUp,
  hashedRound,
  hung,
  latestOf,
  no,
  passDeadline,
  recordOf,
  refundArgs,
  reopenedBy,
  replace,
  termsFor,
} from "../support/contracts/course.ts";
import { Currency, Status, packRound, packTerms, unpackRound } from "../support/contracts/typed-data.ts";
import {
  anyAmount,
  epochBlocks,
  findEvent,
  findEvents,
  maxStake,
  mineTo,
  nextEpoch,
  subscription,
} from "../support/contracts/world.ts";
import { agentsOf, crowd } from "./utils/crowd.ts";
import { currencies } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;
const { sixtyAgents, deadlineOf } = crowd(ethers);

describe("a committee that does not answer in time", () => {
  it("SE8: can be replaced by anybody while retries are left", async () => {
    const { world, oracle, stranger, askFor, calls } = await loadFixture(sixtyAgents);
    const running = await askFor({ retries: 1 });
    const { id } = running.request;
    const { deadline } = unpackRound(running.round);
    const [request, round, seedBlock] = refundArgs(running);
    await time.setNextBlockTimestamp(deadline);
    await expect(oracle.replace(request, round, seedBlock))
      .to.be.revertedWithCustomError(oracle, "DeadlineNotPassed")
      .withArgs(id, deadline);
    await passDeadline(world, round);
    await expect(oracle.refund(request, round, seedBlock))
      .to.be.revertedWithCustomError(oracle, "RetriesLeft")
      .withArgs(id);
    await expect(oracle.replace(request, round, seedBlock + 1n)).to.be.revertedWithCustomError(
      oracle,
      "WitnessMismatch",
    );
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
    await expect(oracle.replace(request, round, seedBlock)).to.be.revertedWithCustomError(oracle, "WitnessMismatch");

    const drawn = await draw(world, second);
    expect(drawn.committee).to.have.length(4);
    await commit(world, drawn);
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 1n, false, false, true]);
    expect(await calls()).to.equal(1n);
  });

  it("SE8: can be replaced before its deadline once its seed cannot be proven any more", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const running = await askFor({ retries: 1 });
    const drawn = await draw(world, running);
    await mineTo(world, (running.seedBlock / epochBlocks + 2n) * epochBlocks - 2n);
    await expect(oracle.replace(...refundArgs(running))).to.be.revertedWithCustomError(oracle, "DeadlineNotPassed");
    await mineTo(world, (running.seedBlock / epochBlocks + 2n) * epochBlocks - 1n);
    await expect(oracle.commit(...commitArgs(world, drawn, decisionFor(drawn)))).to.be.revertedWithCustomError(
      oracle,
      "SeedExpired",
    );
    const sent = await oracle.replace(...refundArgs(running));
    await decide(world, reopenedBy(world, running.request, [], await sent.wait()));
  });

  it("SE8: shares its retries with hung committees; after the last one the fee is refunded", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const first = await replace(world, await askFor({ retries: 2 }));
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
    const silent = await appealed(first);
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
    for (let agent = 7n; agent <= 60n; agent++) await world.registry.startUnbonding(agent, maxStake);
    await nextEpoch(world);
    const asked = await askFor({ retries: 2 });
    for (const agent of [5n, 6n]) await world.registry.startUnbonding(agent, maxStake);
    await passDeadline(world, asked.round);
    await nextEpoch(world);
    const silent = await draw(world, await replace(world, asked));
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
    await expect(oracle.fallBack(...refundArgs(first), hashedRound(first.request, committed.rounds[0]!)))
      .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
      .withArgs(first.request.id);
    await expect(oracle.refund(...refundArgs(first)))
      .to.emit(oracle, "FeeRefunded")
      .withArgs(first.request.id, first.request.consumer, 10n ** 18n);
  });

  for (const currency of currencies) {
    const name = currency === Currency.Token ? "tokens" : "coins";

    it(`SE8: of an appeal in ${name} leaves the request hung, and returns the bond`, async () => {
      const { world, oracle, appellant, stranger, askFor, appealed, calls } = await loadFixture(sixtyAgents);
      const committed = await decide(world, await askFor({ appeals: 2, currency }));
      const { id } = committed.request;
      const bond = await bondOf(world, committed);
      const running = await appealed(committed);
      await passDeadline(world, running.round);
      const [request, round, seedBlock, last] = fallBackArgs(running);
      for (const wrong of [
        { ...last, appellant: stranger.address },
        { ...last, relay: ZeroHash },
        { ...last, round },
        { ...last, committeeHash: ZeroHash },
        { ...last, structHash: ZeroHash },
      ]) {
        await expect(oracle.fallBack(request, round, seedBlock, wrong))
          .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
          .withArgs(id);
      }
      const sent = await oracle.connect(stranger).fallBack(request, round, seedBlock, last);
      const receipt = (await sent.wait())!;
      expect([...findEvent(oracle, receipt, "AttemptUnanswered").args]).to.deep.equal([
        id,
        1n,
        appellant.address,
        bond,
      ]);
      expect(findEvents(oracle, receipt, "DecisionFinalized")).to.have.length(0);
      expect(await oracle.creditOf(appellant.address, currency)).to.equal(bond);
      expect(await calls()).to.equal(1n);
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Hung), 1n, false, false, false]);
      await expect(oracle.fallBack(request, round, seedBlock, last))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(id, Status.Hung);
      await world.settlement.settle(...recordOf(givenUp(running)));
      expect((await oracle.statusOf(id)).settled).to.be.true;
    });
  }

  it("SE8: tells the consumer Hung, also when the callback failed first", async () => {
    const { world, oracle, askFor, appealed } = await loadFixture(sixtyAgents);
    const consumer = await ethers.deployContract("RecordingConsumer");
    await oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
    const terms = packTerms(termsFor({ appeals: 1, callbackGasLimit: 500_000 }));
    const by = (_: string, question: Uint8Array) =>
      consumer.getFunction("ask").send(oracle.target, subscription, terms, question);
    const told = async (id: bigint): Promise<string> =>
      consumer.interface.encodeFunctionData("onDecision", [id, Status.Hung, ZeroHash, "0x", 0]);
    const running = await appealed(await decide(world, await ask(world, {}, "?", by)));
    await passDeadline(world, running.round);
    await oracle.fallBack(...fallBackArgs(running));
    expect(await consumer.getFunction("received")()).to.equal(await told(running.request.id));
    // 20,000 gas are too little to keep the calldata; the hostile consumer refuses, then accepts.
    const other = await appealed(await decide(world, await askFor({ appeals: 1, callbackGasLimit: 20_000 })));
    await passDeadline(world, other.round);
    await expect(oracle.fallBack(...fallBackArgs(other))).to.emit(oracle, "CallbackFailed");
    await expect(oracle.retryCallback(...latestOf(givenUp(other)))).to.be.revertedWithCustomError(
      oracle,
      "CallbackStillFails",
    );
  });

  it("SE8: of a retry leaves the request hung", async () => {
    const { world, oracle, askFor, calls } = await loadFixture(sixtyAgents);
    const { reopened } = await decide(world, await askFor({ retries: 1 }), hung);
    const running = reopened!;
    await passDeadline(world, running.round);
    const sent = await oracle.fallBack(...fallBackArgs(running));
    const receipt = (await sent.wait())!;
    const { args } = findEvent(oracle, receipt, "AttemptUnanswered");
    expect([...args]).to.deep.equal([running.request.id, 1n, ZeroAddress, 0n]);
    const state = await oracle.statusOf(running.request.id);
    expect(state).to.deep.equal([BigInt(Status.Hung), 1n, false, false, false]);
    expect(await calls()).to.equal(1n);
    await expect(oracle.retryCallback(...latestOf(givenUp(running)))).to.be.revertedWithCustomError(
      oracle,
      "CallbackNotPending",
    );
  });

  it("SE3: lets earlier agents sit again when too few others are left", async () => {
    const { world, oracle, appealed, askFor } = await loadFixture(sixtyAgents);
    const committed = await decide(world, await askFor({ appeals: 1 }));
    const earlier = agentsOf(committed.rounds[0]!.committee);
    // Ten agents remain, with all of the first committee: six others for nine seats.
    const kept = new Set(earlier);
    for (let agent = 1n; kept.size < 10; agent++) kept.add(agent);
    for (let agent = 1n; agent <= 60n; agent++) {
      if (!kept.has(agent)) await world.registry.startUnbonding(agent, maxStake);
    }
    await nextEpoch(world);
    const running = await draw(world, await appealed(committed));
    const agents = agentsOf(running.committee);
    expect(new Set(agents).size).to.equal(9);
    expect(agents.filter((agent) => earlier.includes(agent))).to.have.length(3);
    const last = await commit(world, running, decisionFor(running, no));
    await world.settlement.settle(...recordOf(last));
    expect(await oracle.statusOf(running.request.id)).to.deep.equal([BigInt(Status.Decided), 1n, false, false, true]);
  });
});
