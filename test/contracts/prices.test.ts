import { expect } from "chai";
import { encodeBytes32String, toUtf8Bytes } from "ethers";
import hre from "hardhat";

import { termsFor } from "../support/contracts/course.ts";
import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { Currency, packTerms, packWord } from "../support/contracts/typed-data.ts";
import {
  deployWorld,
  registerAgents,
  freeCoins,
  freeTokens,
  subscription,
  type PriceTerms,
} from "../support/contracts/world.ts";
import { currencies, quoteOf } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const question = toUtf8Bytes("Is it?");

async function deployed() {
  const world = await deployWorld(ethers);
  await registerAgents(world, 96);
  const [, stranger] = await ethers.getSigners();
  return { world, oracle: world.oracle, stranger: stranger! };
}

/** `Prices` of contracts/types/Types.sol. */
const packPrices = (prices: PriceTerms, version: bigint, open: boolean): bigint =>
  packWord(LAYOUTS.prices, {
    ...prices,
    gasPriceCap: prices.gasPriceCap / 1_000_000n,
    version,
    open: open ? 1n : 0n,
  });

const listed: Readonly<Record<number, PriceTerms>> = {
  [Currency.Token]: {
    unitPrice: 10n ** 15n + 1n,
    gasRate: 1_999n * 10n ** 18n + 7n,
    gasPriceCap: 20_001_000_000n,
    treasuryPpm: 50_001n,
  },
  [Currency.Native]: { unitPrice: 7n, gasRate: 10n ** 18n, gasPriceCap: 3_000_000n, treasuryPpm: 200_000n },
};

describe("prices", () => {
  it("SE18: give the smallest fee, which is accepted; one unit less is refused", async () => {
    const { oracle } = await loadFixture(deployed);
    for (const currency of currencies) {
      const prices = listed[currency]!;
      await oracle.setPrices(currency, prices);
      for (const overrides of [
        {},
        { retries: 3 },
        { appeals: 1, committeeSize: 31 },
        { appeals: 3, retries: 2, committeeSize: 4, callbackGasLimit: 2_000_000 },
      ]) {
        const terms = termsFor({ currency, ...overrides });
        const least = quoteOf(terms, prices);
        expect(least).to.be.above(0n);
        expect(await oracle.quote(packTerms(terms))).to.equal(least);
        const asking = (amount: bigint) => oracle.request(subscription, packTerms({ ...terms, fee: amount }), question);
        await expect(asking(least - 1n))
          .to.be.revertedWithCustomError(oracle, "FeeTooLow")
          .withArgs(least - 1n, least);
        await asking(least);
      }
    }
  });

  it("SE18: are set only by the administrator, and every version stays readable", async () => {
    const { oracle, stranger } = await loadFixture(deployed);
    for (const currency of currencies) {
      const free = currency === Currency.Token ? freeTokens : freeCoins;
      const prices = listed[currency]!;
      await expect(oracle.connect(stranger).setPrices(currency, prices))
        .to.be.revertedWithCustomError(oracle, "AccessManagedUnauthorized")
        .withArgs(stranger.address);
      const { unitPrice, gasRate, gasPriceCap, treasuryPpm } = prices;
      await expect(oracle.setPrices(currency, prices))
        .to.emit(oracle, "PricesSet")
        .withArgs(currency, 1, [unitPrice, gasRate, gasPriceCap, treasuryPpm]);
      await oracle.setPrices(currency, free);
      expect(await oracle.pricesOf(currency)).to.equal(packPrices(free, 2n, true));
      for (const [version, list] of [free, prices, free].entries()) {
        const packed: bigint = await oracle.priceListOf(currency, version);
        expect(packed & ~1n).to.equal(packPrices(list, BigInt(version), false));
      }
      expect(await oracle.priceListOf(currency, 3)).to.equal(0n);
    }
  });

  it("SE18: have bounds", async () => {
    const { world, oracle } = await loadFixture(deployed);
    const token = listed[Currency.Token]!;
    const cap = 2n ** 32n * 1_000_000n;
    for (const [currency, field, change] of [
      [Currency.Token, "treasuryPpm", { treasuryPpm: 200_001n }],
      [Currency.Token, "gasPriceCap", { gasPriceCap: 1n }],
      [Currency.Token, "gasPriceCap", { gasPriceCap: 1_500_000n }],
      [Currency.Token, "gasPriceCap", { gasPriceCap: cap }],
      [Currency.Native, "gasRate", { gasRate: 10n ** 18n - 1n }],
      [Currency.Native, "gasRate", { gasRate: 10n ** 18n + 1n }],
    ] as const) {
      const prices = { ...listed[currency]!, ...change };
      await expect(oracle.setPrices(currency, prices))
        .to.be.revertedWithCustomError(oracle, "InvalidPrices")
        .withArgs(encodeBytes32String(field), Object.values(change)[0]);
    }
    const most = {
      unitPrice: 2n ** 80n - 1n,
      gasRate: 2n ** 80n - 1n,
      gasPriceCap: cap - 1_000_000n,
      treasuryPpm: 200_000n,
    };
    await oracle.setPrices(Currency.Token, most);
    const dearest = termsFor({ appeals: 3, retries: 3, committeeSize: 7, callbackGasLimit: 2_000_000 });
    expect(await oracle.quote(packTerms(dearest))).to.equal(quoteOf(dearest, most));
    const factory = await ethers.getContractFactory("DecisionOracle");
    const { manager, registry } = world;
    const args = [manager.target, registry.target, world.token.target, 1] as const;
    await expect(factory.deploy(...args, token, { ...freeCoins, gasRate: 0n }))
      .to.be.revertedWithCustomError(oracle, "InvalidPrices")
      .withArgs(encodeBytes32String("gasRate"), 0);
  });
});
