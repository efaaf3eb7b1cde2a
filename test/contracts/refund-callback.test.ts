import { expect } from "chai";
import { ZeroAddress, ZeroHash, toUtf8Bytes } from "ethers";
import hre from "hardhat";

import {
  ask,
  commitArgs,
  decisionFor,
  draw,
  givenUp,
  hashedRound,
  latestOf,
  passDeadline,
  priceGas,
  refundArgs,
  termsFor,
  type Asked,
} from "../support/contracts/course.ts";
import { Currency, Status, packTerms, type Terms } from "../support/contracts/typed-data.ts";
import {
  anyAmount,
  deployWorld,
  findEvent,
  findEvents,
  freeTokens,
  registerAgents,
  subscription,
  subscriptionFunds,
  type World,
} from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const Mode = { Accept: 0, Revert: 1, BurnGas: 2, ReturnBomb: 3, RevertBomb: 4, Reenter: 5 } as const;
const gwei = 10n ** 9n;

async function hostile() {
  const world = await deployWorld(ethers);
  await registerAgents(world, 6);
  const consumer = await ethers.deployContract("HostileConsumer", [world.oracle.target]);
  await world.oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
  const call = (name: string) => consumer.getFunction(name);
  /** Asks, and waits until the request can be refunded. */
  const expired = async (mode: number, overrides: Partial<Terms> = {}): Promise<Asked> => {
    await call("setMode")(mode);
    const terms = termsFor({ callbackGasLimit: 200_000, ...overrides });
    const by = (_: string, question: Uint8Array) => call("ask").send(subscription, terms, question);
    const asked = await ask(world, {}, "Is it safe?", by);
    await passDeadline(world, asked.round);
    return asked;
  };
  const refund = async (asked: Asked, overrides = {}) =>
    (await (await world.oracle.refund(...refundArgs(asked), overrides)).wait())!;
  return { world, oracle: world.oracle, consumer, call, expired, refund };
}

/** What a committee signed that came too late, as `commit`, `fallBack` and `retryCallback` take it. */
async function signedBy(world: World, asked: Asked) {
  const drawn = await draw(world, asked);
  const decision = decisionFor(drawn);
  const decided = { ...drawn, decision, relay: ZeroHash, appellant: ZeroAddress };
  const latest = latestOf(givenUp({ ...asked, past: [decided] }));
  return { commit: commitArgs(world, drawn, decision), latest, decided };
}

describe("the callback of a refund", () => {
  it("SE7: tells the consumer once that its request ended without an answer", async () => {
    const { oracle, call, expired, refund } = await loadFixture(hostile);
    const asked = await expired(Mode.Accept);
    const receipt = await refund(asked);
    expect(findEvents(oracle, receipt, "RefundCallbackFailed")).to.have.length(0);
    expect([await call("calls")(), await call("ended")()]).to.deep.equal([1n, BigInt(Status.Refunded)]);
    await expect(oracle.refund(...refundArgs(asked))).to.be.revertedWithCustomError(oracle, "WrongStatus");
  });

  it("SE7: has the ABI's encoding byte for byte: no outcome, no answer, no confidence", async () => {
    const { world, oracle } = await loadFixture(hostile);
    const consumer = await ethers.deployContract("RecordingConsumer");
    await oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
    const terms = packTerms(termsFor({ callbackGasLimit: 500_000 }));
    const by = (_: string, question: Uint8Array) =>
      consumer.getFunction("ask").send(oracle.target, subscription, terms, question);
    const asked = await ask(world, {}, "?", by);
    await passDeadline(world, asked.round);
    await oracle.refund(...refundArgs(asked));
    const told = [asked.request.id, Status.Refunded, ZeroHash, "0x", 0];
    expect(await consumer.getFunction("received")()).to.equal(
      consumer.interface.encodeFunctionData("onDecision", told),
    );
  });

  for (const mode of ["Revert", "BurnGas", "RevertBomb"] as const) {
    it(`SE7: that fails by ${mode} holds nothing up, and nobody repeats it`, async () => {
      const { world, oracle, call, expired, refund } = await loadFixture(hostile);
      const asked = await expired(Mode[mode]);
      const { latest } = await signedBy(world, asked);
      const receipt = await refund(asked);
      expect(findEvent(oracle, receipt, "RefundCallbackFailed").args["requestId"]).to.equal(asked.request.id);
      expect(receipt.gasUsed).to.be.below(400_000n);
      const state = await oracle.statusOf(asked.request.id);
      expect(state).to.deep.equal([BigInt(Status.Refunded), 0n, false, false, true]);
      expect((await oracle.subscriptionOf(subscription)).tokenBalance).to.equal(subscriptionFunds);
      await call("setMode")(Mode.Accept);
      await expect(oracle.retryCallback(...latest))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(asked.request.id, Status.Refunded);
      expect(await call("calls")()).to.equal(0n);
    });
  }

  it("SE7: costs no more than its limit, however much data it returns", async () => {
    const { oracle, expired, refund } = await loadFixture(hostile);
    const receipt = await refund(await expired(Mode.ReturnBomb));
    expect(receipt.gasUsed).to.be.below(400_000n);
    expect(findEvents(oracle, receipt, "RefundCallbackFailed")).to.have.length(0);
  });

  it("SE7: is not made for a request that wants no callback, and fails at an account without code", async () => {
    const { world, oracle, call, expired, refund } = await loadFixture(hostile);
    const silent = await refund(await expired(Mode.Accept, { callbackGasLimit: 0 }));
    expect(findEvents(oracle, silent, "RefundCallbackFailed")).to.have.length(0);
    expect(await call("calls")()).to.equal(0n);
    const asked = await ask(world, { callbackGasLimit: 100_000 });
    await passDeadline(world, asked.round);
    findEvent(oracle, await refund(asked), "RefundCallbackFailed");
  });

  it("SE7: gets all its gas, or the transaction fails", async () => {
    const { oracle, call, expired, refund } = await loadFixture(hostile);
    const asked = await expired(Mode.Accept, { callbackGasLimit: 1_000_000 });
    const required = Math.floor((1_000_000 * 64) / 63) + 1 + 15_000;
    await expect(oracle.refund(...refundArgs(asked), { gasLimit: 1_000_000 }))
      .to.be.revertedWithCustomError(oracle, "InsufficientCallbackGas")
      .withArgs((available: bigint) => available < required && available > 700_000n, required);
    await refund(asked, { gasLimit: 1_300_000 });
    expect(await call("calls")()).to.equal(1n);
  });

  it("SE13: is paid for, with 83,000 gas, out of the reserve, whether or not it fails", async () => {
    const { world, oracle, expired, refund } = await loadFixture(hostile);
    await oracle.setPrices(Currency.Token, { ...freeTokens, gasRate: 10n ** 18n, gasPriceCap: 10n * gwei });
    for (const mode of [Mode.Accept, Mode.BurnGas]) {
      // The smallest fee: all of it is the reserve.
      const terms = { callbackGasLimit: 2_000_000, appeals: 0, retries: 0 };
      const least = (await oracle.quote(packTerms(termsFor({ ...terms, fee: 0n })))) as bigint;
      const asked = await expired(mode, { ...terms, fee: least });
      const before = (await oracle.creditOf(world.deployer.address, Currency.Token)) as bigint;
      const receipt = await refund(asked, await priceGas(world, 7n * gwei));
      const pay = 2_083_000n * 7n * gwei;
      const [, caller, amount, rest] = findEvent(oracle, receipt, "CallerPaid").args;
      expect([caller, amount, rest]).to.deep.equal([world.deployer.address, pay, 2_083_000n * 3n * gwei]);
      expect(findEvent(oracle, receipt, "FeeRefunded").args["amount"]).to.equal(least - 2_083_000n * 10n * gwei);
      expect(await oracle.creditOf(world.deployer.address, Currency.Token)).to.equal(before + pay);
    }
  });

  it("SE7: cannot end its request again from within, and sees it as it stays", async () => {
    const { world, oracle, consumer, call, expired, refund } = await loadFixture(hostile);
    const asked = await expired(Mode.Reenter, { callbackGasLimit: 1_000_000 });
    const { commit, latest, decided } = await signedBy(world, asked);
    const encode = (name: string, args: readonly unknown[]): string => oracle.interface.encodeFunctionData(name, args);
    const snapshot = await networkHelpers.takeSnapshot();
    for (const data of [
      encode("refund", refundArgs(asked)),
      encode("cancel", refundArgs(asked)),
      encode("replace", refundArgs(asked)),
      encode("fallBack", [...refundArgs(asked), hashedRound(asked.request, decided)]),
      encode("commit", commit),
      encode("retryCallback", latest),
    ]) {
      await call("setReentry")(oracle.target, data);
      await refund(asked);
      expect([await call("calls")(), await call("reentered")()]).to.deep.equal([1n, false]);
      expect(oracle.interface.parseError(await call("reentryResult")())?.name).to.equal("WrongStatus");
      await snapshot.restore();
    }
    for (const [name, args] of [
      ["statusOf", [asked.request.id]],
      ["subscriptionOf", [subscription]],
      ["creditOf", [world.deployer.address, Currency.Token]],
    ] as const) {
      await call("setReentry")(oracle.target, encode(name, args));
      await refund(asked);
      const within = oracle.interface.decodeFunctionResult(name, await call("reentryResult")());
      expect(within, name).to.deep.equal(await oracle.getFunction(name).staticCallResult(...args));
      await snapshot.restore();
    }
    // It may ask again with what came back.
    const next = [subscription, packTerms(termsFor()), toUtf8Bytes("Again?")];
    await call("setReentry")(oracle.target, encode("request", next));
    const receipt = await refund(asked);
    expect(await call("reentered")()).to.be.true;
    expect(findEvent(oracle, receipt, "Requested").args["consumer"]).to.equal(consumer.target);
  });
});
