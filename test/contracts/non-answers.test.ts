import { expect } from "chai";
import { ZeroAddress, encodeBytes32String } from "ethers";
import hre from "hardhat";

import {
  ask,
  certificateFor,
  decide,
  decisionFor,
  draw,
  latestOf,
  no,
  passDeadline,
  recordOf,
  refundArgs,
  replace,
  seedOf,
  tooEarly,
  unanswerable,
  type Asked,
} from "../support/contracts/course.ts";
import { Status, packDecision, unpackRound, word } from "../support/contracts/typed-data.ts";
import { findEvents, type World } from "../support/contracts/world.ts";
import { crowd } from "./utils/crowd.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;
const { sixtyAgents } = crowd(ethers);

const DAY = 86_400;
const NO_SEED_BLOCK = 2n ** 48n - 1n;
/** Numbers, whose outcome may be any word. */
const NUMBER = 2;

const statusOf = async ({ oracle }: World, id: bigint): Promise<number> => Number((await oracle.statusOf(id))[0]);
const askedAt = async (asked: Asked): Promise<number> => (await asked.receipt.getBlock()).timestamp;

describe("non-answers", () => {
  for (const [name, said] of Object.entries({ unanswerable, tooEarly }))
    it(`SE10: ${name} is a decision with an outcome of its own, which a number may have, too`, async () => {
      const { world, oracle, askFor } = await loadFixture(sixtyAgents);
      const first = await decide(world, await askFor({ kind: NUMBER }), said);
      expect(await statusOf(world, first.request.id)).to.equal(said.status);
      const number = await decide(world, await askFor({ kind: NUMBER }), { outcome: said.outcome, answer: "0x2d31" });
      expect(await statusOf(world, number.request.id)).to.equal(Status.Decided);
      const outcome = await world.settlement.outcomeOf(...latestOf(first));
      expect([Number(outcome.status), outcome.value]).to.deep.equal([said.status, said.outcome]);
      expect(await oracle.statusOf(first.request.id)).to.deep.equal([BigInt(said.status), 0n, false, false, true]);
    });

  it("SE10: has no other outcome and no answer, and terms may refuse it", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const drawn = await draw(world, await askFor({ kind: NUMBER }));
    const strict = await draw(world, await askFor({ kind: NUMBER, nonAnswers: 1 }));
    for (const [entry, change, field, value] of [
      [drawn, { ...unanswerable, outcome: tooEarly.outcome }, "outcome", BigInt(tooEarly.outcome)],
      [drawn, { ...tooEarly, outcome: word(0n) }, "outcome", 0n],
      [drawn, { ...tooEarly, answer: "0x01" }, "answer", 1n],
      [strict, unanswerable, "status", BigInt(Status.Unanswerable)],
      [strict, tooEarly, "status", BigInt(Status.TooEarly)],
    ] as const) {
      const decision = decisionFor(entry, change);
      const certificate = certificateFor(world, entry, decision);
      const call = oracle.commit(
        entry.request,
        entry.round,
        seedOf(entry, entry.header),
        certificate,
        packDecision(decision),
      );
      await expect(call)
        .to.be.revertedWithCustomError(oracle, "InvalidDecision")
        .withArgs(encodeBytes32String(field), value);
    }
  });
});

describe("a request that waits", () => {
  it("SE25: has no committee until its delay is over; then anybody calls one, and is paid", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const asked = await askFor({ delay: 3 * DAY, retries: 1 });
    expect(asked.seedBlock).to.equal(NO_SEED_BLOCK);
    expect(unpackRound(asked.round).deadline).to.equal((await askedAt(asked)) + 3 * DAY);
    await expect(world.settlement.committeeOf(asked.request, asked.round, seedOf(asked, "0x")))
      .to.be.revertedWithCustomError(oracle, "SeedNotReady")
      .withArgs(asked.request.id, NO_SEED_BLOCK);
    await expect(oracle.replace(...refundArgs(asked))).to.be.revertedWithCustomError(oracle, "DeadlineNotPassed");
    const called = await replace(world, asked);
    expect(findEvents(oracle, called.receipt, "CallerPaid")).to.have.length(1);
    const { deadline } = unpackRound(called.round);
    expect(deadline).to.equal((await askedAt(called)) + 3600);
    const decided = await decide(world, called, no);
    expect(await oracle.statusOf(asked.request.id)).to.deep.equal([BigInt(Status.Decided), 1n, false, false, true]);
    expect(decided.reopened).to.equal(null);
  });

  it("SE8, SE25: its committee is its last one, if it has one retry", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const called = await replace(world, await askFor({ delay: DAY, retries: 1 }));
    await passDeadline(world, called.round);
    await expect(oracle.replace(...refundArgs(called))).to.be.revertedWithCustomError(oracle, "NoRetriesLeft");
    await oracle.refund(...refundArgs(called));
    expect(await statusOf(world, called.request.id)).to.equal(Status.Refunded);
  });

  it("SE23, SE25: comes back whole as long as it waits", async () => {
    const { world, oracle } = await loadFixture(sixtyAgents);
    const [asker] = await ethers.getSigners();
    const asked = await ask(world, { delay: 2 * DAY, retries: 1 });
    await time.increase(DAY);
    await expect(oracle.connect(asker!).cancel(...refundArgs(asked)))
      .to.emit(oracle, "FeeRefunded")
      .withArgs(asked.request.id, asked.request.consumer, 10n ** 18n);
    expect(await statusOf(world, asked.request.id)).to.equal(Status.Refunded);
  });

  it("SE25: needs a retry, and waits 30 days at most", async () => {
    const { oracle, askFor } = await loadFixture(sixtyAgents);
    for (const [delay, retries] of [
      [1, 0],
      [30 * DAY + 1, 1],
    ] as const)
      await expect(askFor({ delay, retries }))
        .to.be.revertedWithCustomError(oracle, "InvalidTerms")
        .withArgs(encodeBytes32String("delay"), delay);
    expect((await askFor({ delay: 30 * DAY, retries: 1 })).seedBlock).to.equal(NO_SEED_BLOCK);
  });
});

describe("asking again", () => {
  it("SE25: two retries ask again a day after it was too early, from the same escrow, and both committees are paid", async () => {
    const { world, oracle, askFor, calls } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ retries: 2 }), tooEarly);
    const { id } = first.request;
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Requested), 1n, false, false, false]);
    const waiting = first.reopened!;
    expect(waiting.seedBlock).to.equal(NO_SEED_BLOCK);
    expect(unpackRound(waiting.round).deadline).to.equal((await askedAt(waiting)) + DAY);
    expect(await calls()).to.equal(0n);
    await expect(oracle.cancel(...refundArgs(waiting))).to.be.revertedWithCustomError(oracle, "NotConsumerOf");
    const second = await decide(world, await replace(world, waiting), no);
    expect(second.reopened).to.equal(null);
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 2n, false, false, false]);
    expect(await calls()).to.equal(1n);
    const receipt = (await (await world.settlement.settle(...recordOf(second))).wait())!;
    const paid = findEvents(world.settlement, receipt, "RoundPaid").map(({ args }) => args[2] as bigint);
    expect(paid).to.have.length(2);
    expect(paid[0]).to.equal(paid[1]).and.to.be.greaterThan(0n);
  });

  it("SE25: is final where fewer than two retries are left", async () => {
    const { world, askFor } = await loadFixture(sixtyAgents);
    const one = await decide(world, await askFor({ retries: 1 }), tooEarly);
    expect(one.reopened).to.equal(null);
    expect(await statusOf(world, one.request.id)).to.equal(Status.TooEarly);
    const first = await decide(world, await askFor({ retries: 3 }), tooEarly);
    const again = await decide(world, await replace(world, first.reopened!), tooEarly);
    expect(again.reopened).to.equal(null);
    expect(await statusOf(world, again.request.id)).to.equal(Status.TooEarly);
  });

  it("SE25: nobody asks again after an appeal: the stake behind an overturned answer must still be there", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ appeals: 1, retries: 3, finality: 100 }));
    expect(unpackRound(first.reopened!.round).appeals).to.equal(1);
    const second = await decide(world, first.reopened!, tooEarly);
    expect(second.reopened).to.equal(null);
    expect(await oracle.statusOf(first.request.id)).to.deep.equal([BigInt(Status.TooEarly), 1n, false, false, false]);
  });

  it("SE24: a non-answer that is sure enough is final at once, and an unsure one calls the larger committee", async () => {
    const { world, askFor } = await loadFixture(sixtyAgents);
    const terms = { appeals: 1, finality: 90 };
    const sure = await decide(world, await askFor(terms), { ...unanswerable, confidence: 900_000 });
    expect(sure.reopened).to.equal(null);
    const unsure = await decide(world, await askFor(terms), { ...unanswerable, confidence: 899_999 });
    expect(unpackRound(unsure.reopened!.round).appeals).to.equal(1);
    expect(findEvents(world.oracle, unsure.receipt, "RequestReopened")[0]!.args["appellant"]).to.equal(ZeroAddress);
  });
});
