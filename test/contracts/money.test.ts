import { expect } from "chai";
import { ZeroAddress, type ContractTransactionReceipt, type ContractTransactionResponse } from "ethers";
import hre from "hardhat";

import {
  appeal,
  ask,
  bondOf,
  decide,
  fallBackArgs,
  givenUp,
  hung,
  latestOf,
  no,
  packDecided,
  passDeadline,
  priceGas,
  recordOf,
  refundArgs,
  reopenedBy,
  termsFor,
  type Asked,
  type Committed,
} from "../support/contracts/course.ts";
import { Currency, Status, word } from "../support/contracts/typed-data.ts";
import type { Terms } from "../support/contracts/typed-data.ts";
import {
  deployWorld,
  findEvent,
  findEvents,
  freeCoins,
  freeTokens,
  registerAgents,
  treasury,
  type PriceTerms,
} from "../support/contracts/world.ts";
import { courses, yes, type Answer } from "./utils/courses.ts";
import {
  Books,
  currencies,
  deliveryPayOf,
  fallBackPayOf,
  payOf,
  quoteOf,
  replacePayOf,
  unansweredCostOf,
} from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const gwei = 10n ** 9n;
const prices: Readonly<Record<number, PriceTerms>> = {
  [Currency.Token]: {
    unitPrice: 10n ** 15n + 1n,
    gasRate: 2_000n * 10n ** 18n + 1n,
    gasPriceCap: 20n * gwei,
    treasuryPpm: 50_001n,
  },
  [Currency.Native]: { unitPrice: 7n, gasRate: 10n ** 18n, gasPriceCap: 30n * gwei, treasuryPpm: 200_000n },
};
const names = { [Currency.Token]: "tokens", [Currency.Native]: "coins" } as const;

/** Makes 60 agents of two operators, and all accounts that can get money. */
async function priced() {
  const world = await deployWorld(ethers, { token: prices[Currency.Token]!, native: prices[Currency.Native]! });
  const [deployer, first, second, appellant, relayer] = await ethers.getSigners();
  for (const account of [first!, second!, appellant!]) {
    await world.token.mint(account.address, 10n ** 24n);
    for (const target of [world.registry.target, world.oracle.target]) {
      await world.token.connect(account).approve(target, 10n ** 24n);
    }
  }
  for (const operator of [first!, second!]) await registerAgents(world, 30, { operator });
  const accounts = [first!, second!, appellant!, relayer!, deployer!].map(({ address }) => address);
  const relaying = { ...world, oracle: world.oracle.connect(relayer!) };
  return { world, relaying, accounts: [...accounts, treasury, world.registry.target], appellant: appellant! };
}

/** Starts each test with new books, since a fixture restores only the chain. */
async function start() {
  const { world, relaying, accounts, appellant } = await loadFixture(priced);
  const books = new Books(world, accounts);

  const open = async (overrides: Partial<Terms>): Promise<{ readonly terms: Terms; readonly asked: Asked }> => {
    const asking = { ...overrides, fee: 0n };
    const terms = termsFor({ ...overrides, fee: overrides.fee ?? 3n * quoteOf(termsFor(asking), pricesOf(overrides)) });
    const asked = await ask(world, terms);
    books.escrow[terms.currency as 0 | 1] += BigInt(terms.fee);
    await books.expectBalanced();
    return { terms, asked };
  };

  const appealAgainst = async (committed: Committed, currency: number): Promise<Asked> => {
    const bond = await bondOf(world, committed);
    const reopened = await appeal(world, committed, world.oracle.connect(appellant));
    books.escrow[currency as 0 | 1] += bond;
    await books.expectBalanced();
    return reopened;
  };

  /** Finalizes, falls back or refunds. The deployer is paid for it, and the rest of the reserve is refunded (SE13). */
  const conclude = async (
    terms: Terms,
    send: (overrides: Awaited<ReturnType<typeof priceGas>>) => Promise<ContractTransactionResponse>,
    { list = pricesOf(terms), gasPrice = 6n * gwei }: Delivery = {},
  ): Promise<ContractTransactionReceipt> => {
    const { currency } = terms;
    const deployer = world.deployer.address.toLowerCase();
    const before = await books.credits(currency);
    const receipt = (await (await send(await priceGas(world, gasPrice))).wait())!;
    const [, , amount, rest] = findEvent(world.oracle, receipt, "CallerPaid").args;
    const [unanswered] = findEvents(world.oracle, receipt, "AttemptUnanswered");
    const [refunded] = findEvents(world.oracle, receipt, "RequestRefunded");
    expect(amount).to.equal((unanswered === undefined ? deliveryPayOf : fallBackPayOf)(terms, list, gasPrice));
    const held = (refunded === undefined ? fallBackPayOf : deliveryPayOf)(terms, list, list.gasPriceCap);
    // An unanswered appeal pays for the call without the callback.
    const isAppeal = unanswered !== undefined && unanswered.args["appellant"] !== ZeroAddress;
    const cost = isAppeal ? unansweredCostOf(list, gasPrice) : 0n;
    expect(amount + rest).to.equal(held + cost);
    expect((await books.credits(currency)).get(deployer)).to.equal(before.get(deployer)! + amount);
    books.escrow[currency as 0 | 1] -= held;
    await books.expectBalanced();
    return receipt;
  };

  /** Compares every credit after a commit that settled with those before it (SE21). */
  const expectSettled = async (
    terms: Terms,
    committed: Committed,
    before: Map<string, bigint>,
    list = pricesOf(terms),
  ): Promise<void> => {
    const { id } = committed.request;
    const { credits, rest, rounds } = payOf(terms, committed.rounds, list, {
      seats: world.registry.target,
      treasury,
      settler: null,
      replaced: committed.rounds[0]!.decision.attempt,
    });
    for (const [account, amount] of credits) before.set(account, before.get(account)! + amount);
    expect(await books.credits(terms.currency)).to.deep.equal(before);
    const [, pay, treasuryPay, , relayerPay] = rounds[0]!;
    const { args } = findEvent(world.oracle, committed.receipt, "DecisionSettled");
    expect([...args]).to.deep.equal([id, pay, treasuryPay, relayerPay, rest]);
    expect(findEvents(world.oracle, committed.receipt, "FeeRefunded")).to.have.length(0);
    books.escrow[terms.currency as 0 | 1] = 0n;
  };

  /** Decides every attempt as told, appeals while another answer follows, and finalizes. */
  const play = async (
    terms: Terms,
    asked: Asked,
    answers: readonly Answer[],
    delivery?: Delivery,
  ): Promise<Committed> => {
    let running = asked;
    for (const [index, { gasPrice = 5n * gwei, ...decision }] of answers.entries()) {
      const before = await books.credits(terms.currency);
      const committed = await decide(relaying, running, decision, { gasPrice });
      if (findEvents(world.oracle, committed.receipt, "DecisionSettled").length > 0) {
        await expectSettled(terms, committed, before, delivery?.list);
      }
      await books.expectBalanced();
      const isLast = index === answers.length - 1;
      const isFinal = !(await world.oracle.statusOf(asked.request.id)).provisional && committed.reopened === null;
      if (isLast && isFinal) return committed;
      if (isLast) {
        await passDeadline(world, committed.rounds.at(-1)!.round);
        await conclude(terms, (overrides) => world.oracle.finalize(...latestOf(committed), overrides), delivery);
        return committed;
      }
      running = committed.reopened ?? (await appealAgainst(committed, terms.currency));
    }
    throw new Error("No answer");
  };

  /** Settles unless the commit has, compares every credit, and returns which appeals were upheld. */
  const settle = async (
    terms: Terms,
    committed: Committed,
    list = pricesOf(terms),
    replaced = 0,
  ): Promise<readonly boolean[]> => {
    const { id, consumer } = committed.request;
    if ((await world.oracle.statusOf(id)).settled === true) {
      // Read at a gas price of 0: what a settler would get above that is not reserved any more.
      await expect(world.settlement.settle.staticCall(...recordOf(committed)))
        .to.be.revertedWithCustomError(world.oracle, "AlreadySettled")
        .withArgs(id);
      return [];
    }
    const gasPrice = 4n * gwei;
    const settler = { account: appellant.address, gasPrice };
    const payees = { seats: world.registry.target, treasury, settler, replaced };
    const { credits, rest, rounds } = payOf(terms, committed.rounds, list, payees);
    const expected = await books.credits(terms.currency);
    for (const [account, amount] of credits) expected.set(account, expected.get(account)! + amount);
    const overrides = await priceGas(world, gasPrice);
    const receipt = await (await world.settlement.connect(appellant).settle(...recordOf(committed), overrides)).wait();
    expect(await books.credits(terms.currency)).to.deep.equal(expected);
    expect([...findEvent(world.oracle, receipt, "FeeRefunded").args]).to.deep.equal([id, consumer, rest]);
    const paid = findEvents(world.settlement, receipt, "RoundPaid").map(({ args }) => [...args]);
    expect(paid).to.deep.equal(rounds.map((one) => [id, ...one]));
    const [, account] = findEvent(world.settlement, receipt, "SettlerPaid").args;
    expect(account).to.equal(appellant.address);
    books.escrow[terms.currency as 0 | 1] = 0n;
    await books.expectBalanced();
    return findEvents(world.settlement, receipt, "AppealResolved").map(({ args }) => args["upheld"] as boolean);
  };

  return { world, books, appellant, open, play, settle, appealAgainst, conclude, expectSettled };
}

/** Prices of a call of finalize or fallBack. */
interface Delivery {
  readonly list?: PriceTerms;
  readonly gasPrice?: bigint;
}

const pricesOf = ({ currency = Currency.Token }: Partial<Terms>): PriceTerms => prices[currency]!;

describe("pay", () => {
  for (const currency of currencies) {
    for (const [name, overrides, answers, upheld] of courses) {
      it(`in ${names[currency]}: ${name}`, async () => {
        const { open, play, settle } = await start();
        const { terms, asked } = await open({ ...overrides, currency });
        const committed = await play(terms, asked, answers);
        expect(await settle(terms, committed)).to.deep.equal(upheld);
      });
    }

    it(`in ${names[currency]}: SE12: an appeal that nobody answers ends as Hung and costs the gas of saying so`, async () => {
      const { world, books, appellant, open, settle, appealAgainst, conclude } = await start();
      const { terms, asked } = await open({ appeals: 2, currency, callbackGasLimit: 30_000 });
      const committed = await decide(world, asked);
      const running = await appealAgainst(committed, currency);
      await passDeadline(world, running.round);
      const bond = await bondOf(world, committed);
      books.escrow[currency] -= bond;
      await conclude(terms, (overrides) => world.oracle.fallBack(...fallBackArgs(running), overrides));
      const left = bond - unansweredCostOf(prices[currency]!, 6n * gwei);
      await world.oracle.connect(appellant).withdraw(currency, left, appellant.address);
      expect((await world.oracle.statusOf(asked.request.id)).status).to.equal(Status.Hung);
      await books.expectBalanced();
      expect(await settle(terms, givenUp(running))).to.deep.equal([]);
    });
  }

  for (const currency of currencies) {
    it(`in ${names[currency]}: SE15: the smallest fee is enough for the longest course at the dearest gas`, async () => {
      const { open, play, settle } = await start();
      const asking = { appeals: 2, retries: 1, callbackGasLimit: 2_000_000, currency };
      const fee = quoteOf(termsFor({ ...asking, fee: 0n }), prices[currency]!);
      const dear = 500n * gwei;
      for (const answers of [
        [yes, no, hung, yes],
        [yes, yes, hung, yes],
      ]) {
        const { terms, asked } = await open({ ...asking, fee });
        const delivered = answers.map((answer) => ({ ...answer, gasPrice: dear }));
        await settle(terms, await play(terms, asked, delivered, { gasPrice: dear }));
      }
    });

    it(`in ${names[currency]}: SE13: a direct payer gets back what the delivery did not cost`, async () => {
      const { world, books, appellant } = await start();
      const { oracle, deployer } = world;
      await world.token.approve(oracle.target, 10n ** 24n);
      const list = prices[currency]!;
      const asking = termsFor({ appeals: 1, callbackGasLimit: 50_000, currency });
      const fee = quoteOf(asking, list);
      const value = currency === Currency.Native ? fee : 0n;
      const by = (terms: string, question: Uint8Array) => oracle.request(0, terms, question, { value });
      const committed = await decide(world, await ask(world, { ...asking, fee }, undefined, by));
      await passDeadline(world, committed.rounds[0]!.round);
      const creditOf = (account: string): Promise<bigint> => oracle.creditOf(account, currency) as Promise<bigint>;
      const before = [await creditOf(appellant.address), await creditOf(deployer.address)] as const;
      await oracle.connect(appellant).finalize(...latestOf(committed), await priceGas(world, 6n * gwei));
      const pay = deliveryPayOf(asking, list, 6n * gwei);
      const rest = fallBackPayOf(asking, list, list.gasPriceCap) - pay;
      expect(await creditOf(appellant.address)).to.equal(before[0] + pay);
      expect(await creditOf(deployer.address)).to.equal(before[1] + rest);
      books.escrow[currency] += fee - pay - rest;
      await books.expectBalanced();
    });
  }

  it("SE12: an unanswered appeal after an answered one pays by the second decision", async () => {
    const { world, books, open, settle, appealAgainst, conclude } = await start();
    const { terms, asked } = await open({ appeals: 2 });
    const first = await decide(world, asked);
    const second = await decide(world, await appealAgainst(first, terms.currency), no);
    const running = await appealAgainst(second, terms.currency);
    await passDeadline(world, running.round);
    const bond = await bondOf(world, second);
    books.escrow[Currency.Token] -= bond;
    await conclude(terms, (overrides) => world.oracle.fallBack(...fallBackArgs(running), overrides));
    expect(await settle(terms, givenUp(running))).to.deep.equal([true]);
  });

  it("SE8, SE12: the asker bears the cost of an appeal whose committee hung and whose retry nobody answers", async () => {
    const { world, open, settle, appealAgainst, conclude } = await start();
    const { terms, asked } = await open({ appeals: 1, retries: 1 });
    const { reopened } = await decide(world, await appealAgainst(await decide(world, asked), terms.currency), hung);
    await passDeadline(world, reopened!.round);
    const receipt = await conclude(terms, (overrides) => world.oracle.fallBack(...fallBackArgs(reopened!), overrides));
    const { args } = findEvent(world.oracle, receipt, "AttemptUnanswered");
    expect([...args]).to.deep.equal([asked.request.id, 2n, ZeroAddress, 0n]);
    expect((await world.oracle.statusOf(asked.request.id)).status).to.equal(Status.Hung);
    expect(await settle(terms, givenUp(reopened!))).to.deep.equal([false]);
  });

  for (const currency of currencies) {
    it(`in ${names[currency]}: SE13: whoever replaces a silent committee is paid, and the record accounts for it`, async () => {
      const { world, books, open, settle, appealAgainst, expectSettled } = await start();
      const list = prices[currency]!;
      const replaced = async (running: Asked): Promise<Asked> => {
        await passDeadline(world, running.round);
        const deployer = world.deployer.address.toLowerCase();
        const credit = (await books.credits(currency)).get(deployer)!;
        const overrides = await priceGas(world, 6n * gwei);
        const sent = await world.oracle.replace(...refundArgs(running), overrides);
        const receipt = (await sent.wait())!;
        const amount = replacePayOf(list, 6n * gwei);
        const all = replacePayOf(list, list.gasPriceCap);
        const { args } = findEvent(world.oracle, receipt, "CallerPaid");
        expect([...args].slice(1)).to.deep.equal([world.deployer.address, amount, all - amount]);
        expect((await books.credits(currency)).get(deployer)).to.equal(credit + amount);
        books.escrow[currency] -= all;
        await books.expectBalanced();
        return reopenedBy(world, running.request, running.past, receipt);
      };
      // A first round that is final after two silent committees is paid by its commit.
      const once = await open({ retries: 2, currency });
      const twice = await replaced(await replaced(once.asked));
      const before = await books.credits(currency);
      const settled = await decide(world, twice, {}, { gasPrice: 5n * gwei });
      await expectSettled(once.terms, settled, before);
      await books.expectBalanced();
      // A silent committee of an appeal.
      const appealed = await open({ appeals: 1, retries: 1, currency });
      const first = await decide(world, appealed.asked);
      const later = await replaced(await appealAgainst(first, currency));
      expect(await settle(appealed.terms, await decide(world, later, no), list, 1)).to.deep.equal([true]);
      // A request that nobody answers gets back what no call has taken.
      const silent = await open({ retries: 1, currency });
      const last = await replaced(silent.asked);
      await passDeadline(world, last.round);
      await world.oracle.refund(...refundArgs(last));
      books.escrow[currency] = 0n;
      await books.expectBalanced();
    });
  }

  for (const currency of currencies) {
    it(`in ${names[currency]}: SE13: whoever refunds is paid as for a delivery, and a cancellation pays nobody`, async () => {
      const { world, books, open, conclude } = await start();
      const { terms, asked } = await open({ callbackGasLimit: 60_000, currency });
      await passDeadline(world, asked.round);
      // The rest of the fee goes back in the same call.
      books.escrow[currency] = deliveryPayOf(terms, prices[currency]!, prices[currency]!.gasPriceCap);
      const receipt = await conclude(terms, (overrides) => world.oracle.refund(...refundArgs(asked), overrides));
      expect(findEvents(world.oracle, receipt, "RefundCallbackFailed")).to.have.length(1);
      expect(books.escrow[currency]).to.equal(0n);
      const other = await open({ callbackGasLimit: 60_000, currency });
      const before = await books.credits(currency);
      await world.oracle.cancel(...refundArgs(other.asked));
      expect(await books.credits(currency)).to.deep.equal(before);
      books.escrow[currency] = 0n;
      await books.expectBalanced();
    });
  }

  it("SE10: follows the price list that the request was made under", async () => {
    const { world, open, play, settle } = await start();
    const { terms, asked } = await open({ appeals: 1 });
    await world.oracle.setPrices(Currency.Token, freeTokens);
    await world.oracle.setPrices(Currency.Native, freeCoins);
    await settle(terms, await play(terms, asked, [yes]));
    const later = await open({ fee: 1_000_003n, appeals: 1 });
    expect(later.asked.request.id >> 96n).to.equal(1n);
    await settle(later.terms, await play(later.terms, later.asked, [yes], { list: freeTokens }), freeTokens);
    const appealed = await open({ fee: 1_000_003n, appeals: 1 });
    await settle(appealed.terms, await play(appealed.terms, appealed.asked, [yes, no]), freeTokens);
  });

  it("SE15: needs the whole and unchanged record, and happens once", async () => {
    const { world, open, play } = await start();
    const { oracle, settlement } = world;
    const { terms, asked } = await open({ appeals: 1, retries: 1 });
    const committed = await play(terms, asked, [hung, yes, no]);
    const [request, rounds] = recordOf(committed);
    const [one, two, three] = rounds as [(typeof rounds)[0], (typeof rounds)[0], (typeof rounds)[0]];
    const otherShares = packDecided({
      ...committed.rounds[1]!,
      decision: { ...committed.rounds[1]!.decision, shares: "0xff000000" },
    });
    const wrong = [
      [],
      [one],
      [three],
      [two, three],
      [one, three],
      [two, one, three],
      [one, two],
      [one, two, three, three],
      [{ ...one, relay: two.relay.replace(/.$/, "0") }, two, three],
      [one, { ...two, relay: word(0n) }, three],
      [one, two, { ...three, relay: word(0n) }],
      [one, { ...two, appellant: one.appellant }, three],
      [{ ...one, appellant: two.appellant }, two, three],
      [one, otherShares, three],
      [one, { ...two, committee: one.committee }, three],
      [one, two, { ...three, round: two.round }],
      [one, { ...two, decision: { ...two.decision, outcome: word(0n) } }, three],
    ];
    for (const [index, record] of wrong.entries()) {
      await expect(settlement.settle(request, record), `record ${index}`)
        .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
        .withArgs(request.id);
    }
    const cheaper = { ...request, terms: word(BigInt(request.terms) ^ (1n << 160n)) };
    await expect(settlement.settle(cheaper, rounds)).to.be.revertedWithCustomError(oracle, "WitnessMismatch");
    await settlement.settle(request, rounds);
    await expect(settlement.settle(request, rounds))
      .to.be.revertedWithCustomError(oracle, "AlreadySettled")
      .withArgs(request.id);
  });
});
