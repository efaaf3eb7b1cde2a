import { expect } from "chai";
import hre from "hardhat";

import { ask, latestOf, passDeadline, refundArgs } from "../support/contracts/course.ts";
import { Status, unpackRound } from "../support/contracts/typed-data.ts";
import { subscription, subscriptionFunds } from "../support/contracts/world.ts";
import { stages } from "./utils/stages.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;
const { drawn, settled } = stages(ethers);
const fee = 10n ** 18n;

describe("the end of a request", () => {
  describe("refund", () => {
    it("can be sent by any account after the deadline, before and after the seed block, and returns the fee", async () => {
      const { world, oracle, stranger, drawn: entry } = await loadFixture(drawn);
      const waiting = await ask(world);
      for (const running of [entry, waiting]) {
        await expect(oracle.refund(...refundArgs(running))).to.be.revertedWithCustomError(oracle, "DeadlineNotPassed");
      }
      await passDeadline(world, waiting.round);
      for (const running of [entry, waiting]) {
        const [request, round, witness] = refundArgs(running);
        for (const wrong of [witness - 1n, witness + 1n, 0n]) {
          await expect(oracle.refund(request, round, wrong)).to.be.revertedWithCustomError(oracle, "WitnessMismatch");
        }
        await expect(oracle.connect(stranger).refund(request, round, witness))
          .to.emit(oracle, "FeeRefunded")
          .withArgs(request.id, world.deployer.address, fee)
          .and.to.emit(oracle, "RequestRefunded")
          .withArgs(request.id);
        expect(await oracle.statusOf(request.id)).to.deep.equal([BigInt(Status.Refunded), 0n, false, false, true]);
        await expect(oracle.refund(request, round, witness))
          .to.be.revertedWithCustomError(oracle, "WrongStatus")
          .withArgs(request.id, Status.Refunded);
      }
      expect((await oracle.subscriptionOf(subscription)).tokenBalance).to.equal(subscriptionFunds);
    });

    it("fails in the second of the deadline, which still belongs to the committee", async () => {
      const { oracle, drawn: entry } = await loadFixture(drawn);
      const { deadline } = unpackRound(entry.round);
      await time.setNextBlockTimestamp(deadline);
      await expect(oracle.refund(...refundArgs(entry)))
        .to.be.revertedWithCustomError(oracle, "DeadlineNotPassed")
        .withArgs(entry.request.id, deadline);
      await time.setNextBlockTimestamp(deadline + 1);
      await oracle.refund(...refundArgs(entry));
    });

    it("fails after a decision", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(settled);
      await passDeadline(world, entry.round);
      await expect(oracle.refund(...refundArgs(entry)))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(entry.request.id, Status.Decided);
    });
  });

  describe("retryCallback", () => {
    it("needs a failed callback", async () => {
      const { oracle, committed } = await loadFixture(settled);
      await expect(oracle.retryCallback(...latestOf(committed)))
        .to.be.revertedWithCustomError(oracle, "CallbackNotPending")
        .withArgs(committed.request.id);
    });
  });
});
