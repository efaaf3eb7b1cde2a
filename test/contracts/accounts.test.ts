import { expect } from "chai";
import { ZeroAddress, toUtf8Bytes } from "ethers";
import hre from "hardhat";

import { ask, decide, draw, passDeadline, refundArgs, termsFor } from "../support/contracts/course.ts";
import { Currency, packRequestId, packTerms, word, type Terms } from "../support/contracts/typed-data.ts";
import {
  anyAmount,
  deployWorld,
  freeTokens,
  registerAgents,
  subscription,
  subscriptionCoins,
  subscriptionFunds,
  type Oracle,
} from "../support/contracts/world.ts";
import { Books, currencies } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const question = toUtf8Bytes("Is it?");
const fee = 10n ** 18n;

/** Makes two accounts with tokens that the oracle may take. */
async function deployed() {
  const world = await deployWorld(ethers);
  const { oracle, token } = world;
  const [, owner, stranger] = await ethers.getSigners();
  for (const account of [owner!, stranger!]) {
    await token.mint(account.address, 100n * fee);
    await token.connect(account).approve(oracle.target, 100n * fee);
  }
  await registerAgents(world, 6);
  return { world, oracle, token, owner: owner!, stranger: stranger! };
}

const termsIn = (currency: number, overrides: Partial<Terms> = {}): string =>
  packTerms(termsFor({ currency, ...overrides }));

async function fundsOf(oracle: Oracle, id: bigint): Promise<readonly bigint[]> {
  const { tokenBalance, nativeBalance } = await oracle.subscriptionOf(id);
  return [tokenBalance, nativeBalance];
}

describe("a subscription", () => {
  it("SE17: can be created by any account, and has the next number", async () => {
    const { oracle, owner, stranger } = await loadFixture(deployed);
    for (const [account, id] of [
      [owner, 2],
      [stranger, 3],
    ] as const) {
      await expect(oracle.connect(account).createSubscription())
        .to.emit(oracle, "SubscriptionCreated")
        .withArgs(id, account.address);
      expect(await oracle.subscriptionOf(id)).to.deep.equal([account.address, ZeroAddress, 0n, 0n, 0n]);
    }
    for (const call of [
      () => oracle.setConsumer(4, owner.address, anyAmount, anyAmount),
      () => oracle.transferSubscription(4, owner.address),
      () => oracle.fund(4, 1),
      () => oracle.fundNative(4, { value: 1 }),
      () => oracle.withdrawFunds(4, Currency.Token, 0, owner.address),
    ]) {
      await expect(call()).to.be.revertedWithCustomError(oracle, "UnknownSubscription").withArgs(4);
    }
    // Nobody owns subscription 0, which counts direct payments.
    await expect(oracle.fund(0, 1)).to.be.revertedWithCustomError(oracle, "UnknownSubscription").withArgs(0);
  });

  it("SE17: obeys only its owner, who need not be a consumer", async () => {
    const { oracle, owner, stranger } = await loadFixture(deployed);
    await oracle.connect(owner).createSubscription();
    for (const call of [
      () => oracle.connect(stranger).setConsumer(2, stranger.address, anyAmount, anyAmount),
      () => oracle.connect(stranger).transferSubscription(2, stranger.address),
      () => oracle.connect(stranger).withdrawFunds(2, Currency.Token, 0, stranger.address),
    ]) {
      await expect(call()).to.be.revertedWithCustomError(oracle, "NotSubscriptionOwner").withArgs(2, stranger.address);
    }
    await expect(oracle.connect(owner).request(2, termsIn(Currency.Token), question))
      .to.be.revertedWithCustomError(oracle, "NotConsumer")
      .withArgs(2, owner.address);
  });

  it("SE17: changes its owner in two steps", async () => {
    const { world, oracle, owner, stranger } = await loadFixture(deployed);
    const { deployer } = world;
    const accept = () => oracle.connect(owner).acceptSubscription(subscription);
    const refused = async (): Promise<void> => {
      await expect(accept())
        .to.be.revertedWithCustomError(oracle, "NotPendingOwner")
        .withArgs(subscription, owner.address);
    };
    await refused();
    await oracle.transferSubscription(subscription, owner.address);
    await oracle.transferSubscription(subscription, ZeroAddress);
    await refused();
    await expect(oracle.transferSubscription(subscription, owner.address))
      .to.emit(oracle, "SubscriptionTransferStarted")
      .withArgs(subscription, deployer.address, owner.address);
    await expect(oracle.connect(stranger).acceptSubscription(subscription))
      .to.be.revertedWithCustomError(oracle, "NotPendingOwner")
      .withArgs(subscription, stranger.address);
    const [held, pending] = await oracle.subscriptionOf(subscription);
    expect([held, pending]).to.deep.equal([deployer.address, owner.address]);
    await expect(accept())
      .to.emit(oracle, "SubscriptionTransferred")
      .withArgs(subscription, deployer.address, owner.address);
    expect((await oracle.subscriptionOf(subscription)).slice(0, 2)).to.deep.equal([owner.address, ZeroAddress]);
    await refused();
    await expect(oracle.setConsumer(subscription, stranger.address, anyAmount, anyAmount))
      .to.be.revertedWithCustomError(oracle, "NotSubscriptionOwner")
      .withArgs(subscription, deployer.address);
    // Consumers that were allowed stay allowed.
    expect(await oracle.allowanceOf(subscription, deployer.address)).to.equal((anyAmount << 104n) | anyAmount);
  });

  it("SE17: pays for its consumers, and not for one that was removed", async () => {
    const { world, oracle, stranger } = await loadFixture(deployed);
    const asking = () => oracle.connect(stranger).request(subscription, termsIn(Currency.Token), question);
    await expect(asking())
      .to.be.revertedWithCustomError(oracle, "NotConsumer")
      .withArgs(subscription, stranger.address);
    await expect(oracle.setConsumer(subscription, stranger.address, anyAmount, anyAmount))
      .to.emit(oracle, "ConsumerSet")
      .withArgs(subscription, stranger.address, anyAmount, anyAmount);
    const asked = await ask(world, {}, "Is it?", asking);
    expect(asked.request.consumer).to.equal(stranger.address);
    await oracle.setConsumer(subscription, stranger.address, 0, 0);
    await expect(asking()).to.be.revertedWithCustomError(oracle, "NotConsumer");
    // Its earlier requests go on, and the rest of their fees goes back to the subscription.
    const drawn = await draw(world, asked);
    await passDeadline(world, drawn.round);
    await oracle.refund(...refundArgs(drawn));
    expect(await fundsOf(oracle, subscription)).to.deep.equal([subscriptionFunds, subscriptionCoins]);
    expect(await oracle.creditOf(stranger.address, Currency.Token)).to.equal(0n);
  });

  it("SE17: lets a consumer escrow its allowance in each currency and no more, whatever comes back", async () => {
    const { world, oracle, stranger } = await loadFixture(deployed);
    const left = async (): Promise<readonly bigint[]> => {
      const allowance = (await oracle.allowanceOf(subscription, stranger.address)) as bigint;
      return [allowance & anyAmount, allowance >> 104n];
    };
    const asking = (currency: number, price: bigint) => () =>
      oracle.connect(stranger).request(subscription, termsIn(currency, { fee: price }), question);
    const refused = async (currency: number, price: bigint, allowance: bigint): Promise<void> => {
      await expect(asking(currency, price)())
        .to.be.revertedWithCustomError(oracle, "AllowanceExceeded")
        .withArgs(subscription, stranger.address, allowance, price);
    };
    expect(await left()).to.deep.equal([0n, 0n]);
    await oracle.setConsumer(subscription, stranger.address, 10, 3);
    await refused(Currency.Token, 11n, 10n);
    await refused(Currency.Native, 4n, 3n);
    const first = await ask(world, {}, "Is it?", asking(Currency.Token, 6n));
    await asking(Currency.Native, 2n)();
    expect(await left()).to.deep.equal([4n, 1n]);
    await refused(Currency.Token, 5n, 4n);
    // The fee goes back to the subscription, and the allowance stays spent.
    await passDeadline(world, first.round);
    await oracle.refund(...refundArgs(first));
    expect(await left()).to.deep.equal([4n, 1n]);
    // An allowance that is used up is as good as none. The other currency is not touched.
    await asking(Currency.Token, 4n)();
    await expect(asking(Currency.Token, 0n)()).to.be.revertedWithCustomError(oracle, "NotConsumer");
    expect(await left()).to.deep.equal([0n, 1n]);
    // The owner sets another one at any time.
    await oracle.setConsumer(subscription, stranger.address, 7, 0);
    await asking(Currency.Token, 7n)();
    await expect(asking(Currency.Native, 0n)()).to.be.revertedWithCustomError(oracle, "NotConsumer");
  });

  it("SE17: does not count what a consumer escrows without a bound", async () => {
    const { oracle, stranger } = await loadFixture(deployed);
    await oracle.setConsumer(subscription, stranger.address, anyAmount, anyAmount - 1n);
    const gasOf = async (currency: number): Promise<bigint> => {
      const sent = await oracle.connect(stranger).request(subscription, termsIn(currency, { fee: 5n }), question);
      return (await sent.wait())!.gasUsed;
    };
    // The first request of a consumer changes no word from 0, and the second one none either.
    const unbounded = await gasOf(Currency.Token);
    const bounded = await gasOf(Currency.Native);
    expect(await oracle.allowanceOf(subscription, stranger.address)).to.equal(((anyAmount - 6n) << 104n) | anyAmount);
    expect(Number(bounded - unbounded)).to.be.within(2_800, 3_300);
  });

  it("SE17, MO3: takes funds from any account and returns them to its owner, each currency on its own", async () => {
    const { oracle, token, owner, stranger } = await loadFixture(deployed);
    await oracle.connect(owner).createSubscription();
    await expect(oracle.connect(stranger).fund(2, 70))
      .to.emit(oracle, "SubscriptionFunded")
      .withArgs(2, stranger.address, Currency.Token, 70);
    expect(await fundsOf(oracle, 2n)).to.deep.equal([70n, 0n]);
    await expect(oracle.connect(stranger).fundNative(2, { value: 50 }))
      .to.emit(oracle, "SubscriptionFunded")
      .withArgs(2, stranger.address, Currency.Native, 50);
    expect(await fundsOf(oracle, 2n)).to.deep.equal([70n, 50n]);
    const take = (currency: number, amount: number) =>
      oracle.connect(owner).withdrawFunds(2, currency, amount, stranger.address);
    await expect(take(Currency.Token, 71))
      .to.be.revertedWithCustomError(oracle, "InsufficientFunds")
      .withArgs(2, Currency.Token, 70, 71);
    await expect(take(Currency.Native, 51))
      .to.be.revertedWithCustomError(oracle, "InsufficientFunds")
      .withArgs(2, Currency.Native, 50, 51);
    const tokens: bigint = await token.balanceOf(stranger.address);
    await expect(take(Currency.Token, 69))
      .to.emit(oracle, "SubscriptionWithdrawn")
      .withArgs(2, stranger.address, Currency.Token, 69);
    expect(await token.balanceOf(stranger.address)).to.equal(tokens + 69n);
    const coins = await ethers.provider.getBalance(stranger.address);
    await take(Currency.Native, 48);
    expect(await ethers.provider.getBalance(stranger.address)).to.equal(coins + 48n);
    expect(await fundsOf(oracle, 2n)).to.deep.equal([1n, 2n]);
  });

  it("SE19: pays each request in its currency, out of funds that are not in escrow", async () => {
    const { oracle, owner } = await loadFixture(deployed);
    const account = oracle.connect(owner);
    await account.createSubscription();
    await account.setConsumer(2, owner.address, anyAmount, anyAmount);
    await account.fund(2, 10);
    await account.fundNative(2, { value: 20 });
    for (const [currency, held] of [
      [Currency.Token, 10n],
      [Currency.Native, 20n],
    ] as const) {
      await expect(account.request(2, termsIn(currency, { fee: held + 1n }), question))
        .to.be.revertedWithCustomError(oracle, "InsufficientFunds")
        .withArgs(2, currency, held, held + 1n);
      await expect(account.request(2, termsIn(currency, { fee: 1n }), question, { value: 1 }))
        .to.be.revertedWithCustomError(oracle, "WrongValue")
        .withArgs(0, 1);
      await account.request(2, termsIn(currency, { fee: held - 3n }), question);
      await expect(account.withdrawFunds(2, currency, 4, owner.address))
        .to.be.revertedWithCustomError(oracle, "InsufficientFunds")
        .withArgs(2, currency, 3, 4);
    }
    expect(await fundsOf(oracle, 2n)).to.deep.equal([3n, 3n]);
  });

  it("holds less than 2^104 of a currency", async () => {
    const { oracle, token, world } = await loadFixture(deployed);
    const most = (1n << 104n) - 1n;
    await token.mint(world.deployer.address, 1n << 110n);
    await token.approve(oracle.target, 1n << 110n);
    await oracle.createSubscription();
    await expect(oracle.fund(2, most + 1n))
      .to.be.revertedWithCustomError(oracle, "BalanceOverflow")
      .withArgs(0, most + 1n);
    await oracle.fundNative(2, { value: 9 });
    await oracle.fund(2, most);
    expect(await fundsOf(oracle, 2n)).to.deep.equal([most, 9n]);
    await expect(oracle.fund(2, 1)).to.be.revertedWithCustomError(oracle, "BalanceOverflow").withArgs(most, 1);
  });
});

describe("a request id", () => {
  it("names the price list, the subscription and the count", async () => {
    const { world, oracle, owner } = await loadFixture(deployed);
    await oracle.connect(owner).createSubscription();
    await oracle.connect(owner).setConsumer(2, world.deployer.address, anyAmount, anyAmount);
    await oracle.fund(2, fee);
    const from = (id: bigint, currency: number, value = 0n) =>
      ask(world, {}, "Is it?", () => oracle.request(id, termsIn(currency, { fee: 1n }), question, { value }));
    const ids: bigint[] = [];
    const note = async (asked: ReturnType<typeof from>): Promise<void> => {
      ids.push((await asked).request.id);
    };
    await note(from(0n, Currency.Token));
    await note(from(0n, Currency.Native, 1n));
    await note(from(1n, Currency.Token));
    await note(from(2n, Currency.Token));
    await oracle.setPrices(Currency.Token, freeTokens);
    await note(from(1n, Currency.Token));
    await note(from(1n, Currency.Native));
    await note(from(0n, Currency.Token));
    expect(ids).to.deep.equal([
      1n,
      2n,
      packRequestId(0n, 1n, 1n),
      packRequestId(0n, 2n, 1n),
      packRequestId(1n, 1n, 2n),
      packRequestId(0n, 1n, 3n),
      packRequestId(1n, 0n, 3n),
    ]);
    expect((await oracle.subscriptionOf(0)).requests).to.equal(3n);
  });
});

describe("direct payment", () => {
  for (const currency of currencies) {
    const name = currency === Currency.Token ? "tokens" : "coins";

    it(`SE14: in ${name} is refunded as a credit that the payer withdraws`, async () => {
      const { world, oracle, token, stranger } = await loadFixture(deployed);
      const value = currency === Currency.Native ? fee : 0n;
      const books = new Books(world, [stranger.address, world.deployer.address]);
      const asking = () => oracle.connect(stranger).request(0, termsIn(currency), question, { value });
      const first = await ask(world, {}, "Is it?", asking);
      const second = await ask(world, {}, "Is it?", asking);
      expect([first.request.id, second.request.id]).to.deep.equal([1n, 2n]);
      books.escrow[currency] = 2n * fee;
      await books.expectBalanced();
      expect(await fundsOf(oracle, 0n)).to.deep.equal([0n, 0n]);

      await decide(world, first, { shares: "0x00000000" });
      await passDeadline(world, second.round);
      await expect(oracle.refund(...refundArgs(second)))
        .to.emit(oracle, "FeeRefunded")
        .withArgs(2, stranger.address, fee);
      books.escrow[currency] = 0n;
      await books.expectBalanced();
      expect(await oracle.creditOf(stranger.address, currency)).to.equal(2n * fee);

      const take = (amount: bigint, where: number = currency) =>
        oracle.connect(stranger).withdraw(where, amount, world.manager.target);
      await expect(take(2n * fee + 1n))
        .to.be.revertedWithCustomError(oracle, "InsufficientCredit")
        .withArgs(stranger.address, currency, 2n * fee, 2n * fee + 1n);
      await expect(take(1n, 1 - currency))
        .to.be.revertedWithCustomError(oracle, "InsufficientCredit")
        .withArgs(stranger.address, 1 - currency, 0, 1);
      await expect(oracle.withdraw(currency, 1, stranger.address)).to.be.revertedWithCustomError(
        oracle,
        "InsufficientCredit",
      );
      const to = world.deployer.address;
      const heldNow = async (): Promise<bigint> =>
        currency === Currency.Native ? ethers.provider.getBalance(to) : token.balanceOf(to);
      const before = await heldNow();
      await expect(oracle.connect(stranger).withdraw(currency, fee, to))
        .to.emit(oracle, "Withdrawn")
        .withArgs(stranger.address, to, currency, fee);
      expect((await heldNow()) - before).to.equal(fee);
      await books.expectBalanced();
    });
  }

  it("SE19: takes exactly the fee, in the currency of the terms", async () => {
    const { oracle, token, stranger } = await loadFixture(deployed);
    const direct = oracle.connect(stranger);
    for (const value of [0n, fee - 1n, fee + 1n]) {
      await expect(direct.request(0, termsIn(Currency.Native), question, { value }))
        .to.be.revertedWithCustomError(oracle, "WrongValue")
        .withArgs(fee, value);
    }
    await expect(direct.request(0, termsIn(Currency.Token), question, { value: fee }))
      .to.be.revertedWithCustomError(oracle, "WrongValue")
      .withArgs(0, fee);
    await token.connect(stranger).approve(oracle.target, fee - 1n);
    await expect(direct.request(0, termsIn(Currency.Token), question))
      .to.be.revertedWithCustomError(token, "ERC20InsufficientAllowance")
      .withArgs(oracle.target, fee - 1n, fee);
    const sent = stranger.sendTransaction({ to: oracle.target, value: 1 });
    await expect(sent).to.be.revertedWithoutReason(ethers);
  });
});

describe("payOut", () => {
  it("accepts calls only from the settlement", async () => {
    const { world, oracle, stranger } = await loadFixture(deployed);
    const committed = await decide(world, await ask(world));
    const payout = {
      currency: Currency.Token,
      consumer: stranger.address,
      rest: fee,
      earned: 0n,
      payments: [],
      services: [],
    };
    for (const account of [world.deployer, stranger]) {
      await expect(oracle.connect(account).payOut(committed.request.id, word(0n), payout))
        .to.be.revertedWithCustomError(oracle, "NotSettlement")
        .withArgs(account.address);
    }
    const fake = await ethers.deployContract("Settlement", [world.registry]);
    expect(await fake.getFunction("oracle")()).to.equal(world.deployer.address);
  });
});
