// The amounts that follow from docs/spec/settlement.md, computed without the contracts.
import { LAYOUTS } from "../../../agents/core/encoding/layouts.ts";
import { expect } from "chai";
import { ZeroAddress, getAddress, getBytes } from "ethers";

import { quorum, type DecidedRound } from "../../support/contracts/course.ts";
import { Currency, memberOf, Status, type Terms, unpackRound } from "../../support/contracts/typed-data.ts";
import { subscription, type PriceTerms, type World } from "../../support/contracts/world.ts";

export const currencies = [Currency.Token, Currency.Native] as const;

const KIND_NUMBER = 2;

const sizeAfter = (terms: Terms, appeals: number): number => 2 ** appeals * (terms.committeeSize + 1) - 1;

const levelsOf = (terms: Terms): readonly number[] =>
  Array.from({ length: terms.appeals + 1 }, (_, level) => sizeAfter(terms, level));

/** Returns U, the most units that a request can cost. */
const mostUnits = (terms: Terms): bigint => {
  const levels = levelsOf(terms);
  return BigInt(2 * levels.reduce((sum, size) => sum + size, 0) + terms.retries * levels.at(-1)!);
};

/** Returns the price of a unit (SE11). */
export const unitOf = (terms: Terms, prices: PriceTerms): bigint =>
  (BigInt(terms.fee) - reserveOf(terms, prices)) / mostUnits(terms);

/** Returns the price of a unit of the committees that appeals call: at most twice that of the list (SE5). */
const appealUnitOf = (terms: Terms, prices: PriceTerms): bigint => {
  const [unit, cap] = [unitOf(terms, prices), 2n * prices.unitPrice];
  return cap > 0n && cap < unit ? cap : unit;
};

/** Returns the bond of the next appeal after this many appeals (SE5). */
export function bondAfter(terms: Terms, appeals: number, prices: PriceTerms): bigint {
  const size = sizeAfter(terms, appeals + 1);
  const relays = BigInt(1 + terms.retries) * gasOf(size);
  return BigInt((2 + terms.retries) * size) * appealUnitOf(terms, prices) + costOf(prices, relays, prices.gasPriceCap);
}

/** Returns the gas of a commit, without its callback. */
const gasOf = (size: number): bigint => 42_000n + 4_900n * BigInt(quorum(size));

/** Returns the gas of finalize or fallBack, with the callback. */
const deliveryGasOf = (terms: Terms): bigint => 70_000n + BigInt(terms.callbackGasLimit);

const costOf = (prices: PriceTerms, gas: bigint, gasPrice: bigint): bigint =>
  (gas * (gasPrice < prices.gasPriceCap ? gasPrice : prices.gasPriceCap) * prices.gasRate) / 10n ** 18n;

/** Returns the reserve for gas (SE13). */
export function reserveOf(terms: Terms, prices: PriceTerms): bigint {
  const levels = levelsOf(terms);
  const sizes = [...levels, ...Array<number>(terms.retries).fill(levels.at(-1)!)];
  const delivery = sizes.length === 1 ? BigInt(terms.callbackGasLimit) : deliveryGasOf(terms);
  const gas = sizes.reduce((sum, size) => sum + gasOf(size), delivery);
  return costOf(prices, gas, prices.gasPriceCap);
}

/** Returns the pay for finalize or fallBack. */
export const deliveryPayOf = (terms: Terms, prices: PriceTerms, gasPrice: bigint): bigint =>
  costOf(prices, deliveryGasOf(terms), gasPrice);

/** Returns the smallest fee (SE18). */
export const quoteOf = (terms: Terms, prices: PriceTerms): bigint =>
  mostUnits(terms) * prices.unitPrice + reserveOf(terms, prices);

export interface Pay {
  /** By account, in lower case. */
  readonly credits: Map<string, bigint>;
  /** The amount that the asker gets back. */
  readonly rest: bigint;
  /** The attempt, the treasury's part, the relayer and its pay for gas, for each round. */
  readonly deductions: readonly (readonly [bigint, bigint, string, bigint])[];
}

/** Returns the payments of a final record (SE10 to SE14). */
export function payOf(
  terms: Terms,
  rounds: readonly DecidedRound[],
  prices: PriceTerms,
  payees: { readonly seats: string; readonly treasury: string },
): Pay {
  const credits = new Map<string, bigint>();
  const deductions: (readonly [bigint, bigint, string, bigint])[] = [];
  const unitAt = ({ round }: DecidedRound): bigint =>
    (unpackRound(round).appeals === 0 ? unitOf : appealUnitOf)(terms, prices);
  const last = rounds.at(-1)!.decision;
  let rest = BigInt(terms.fee);
  // The oracle paid this when the request was finalized.
  if (!isFinalAtOnce(terms, rounds.at(-1)!)) rest -= deliveryPayOf(terms, prices, prices.gasPriceCap);
  const credit = (account: string, amount: bigint): void => {
    rest -= amount;
    const key = account.toLowerCase();
    if (amount > 0n) credits.set(key, (credits.get(key) ?? 0n) + amount);
  };
  for (const [index, one] of rounds.entries()) {
    const { round, decision, relay, appellant } = one;
    const pay = unitAt(one) * unitsOf(one);
    const treasuryPay = (pay * prices.treasuryPpm) / 1_000_000n;
    credit(payees.treasury, treasuryPay);
    const callback = isFinalAtOnce(terms, one) ? BigInt(terms.callbackGasLimit) : 0n;
    const relayerPay = costOf(prices, gasOf(one.committee.length) + callback, gasPriceOf(one));
    const relayer = getAddress(`0x${relay.slice(-40)}`);
    credit(relayer, relayerPay);
    deductions.push([BigInt(decision.attempt), treasuryPay, relayer, relayerPay]);
    const left = pay - treasuryPay;
    if (index < rounds.length - 1 && appellant !== ZeroAddress) {
      const bond = bondAfter(terms, unpackRound(round).appeals, prices);
      rest += bond;
      if (isOverturned(terms, decision, last)) {
        credit(appellant, bond + left / 2n);
        continue;
      }
      const costs = calledBy(rounds, index).map(
        (other) => unitAt(other) * unitsOf(other) + costOf(prices, gasOf(other.committee.length), gasPriceOf(other)),
      );
      credit(
        appellant,
        costs.reduce((held, cost) => held - cost, bond),
      );
    }
    const shares = [...getBytes(decision.shares)].map(BigInt);
    const total = shares.reduce((sum, share) => sum + share, 0n);
    if (total === 0n) continue;
    for (const share of shares) credit(payees.seats, (left * share) / total);
  }
  return { credits, rest, deductions };
}

const unitsOf = ({ committee, decision }: DecidedRound): bigint =>
  BigInt(decision.status === Status.Decided ? 2 * committee.length : committee.length);

/** Returns the rounds after an appeal against the round at `index`, up to the next appeal. */
function calledBy(rounds: readonly DecidedRound[], index: number): readonly DecidedRound[] {
  const end = rounds.findIndex(({ appellant }, later) => later > index && appellant !== ZeroAddress);
  return rounds.slice(index + 1, end < 0 ? rounds.length : end + 1);
}

const gasPriceOf = ({ relay }: DecidedRound): bigint => memberOf(LAYOUTS.relay, relay, "gasPrice") * 1_000_000n;

/** True if the commit made the callback (SE13). */
function isFinalAtOnce(terms: Terms, { round, decision }: DecidedRound): boolean {
  const { appeals } = unpackRound(round);
  const isRetried = decision.status === Status.Hung && decision.attempt - appeals < terms.retries;
  return !isRetried && appeals === terms.appeals;
}

function isOverturned(terms: Terms, decision: DecidedRound["decision"], last: DecidedRound["decision"]): boolean {
  if (last.status !== Status.Decided) return false;
  if (decision.status !== Status.Decided) return true;
  if (terms.kind !== KIND_NUMBER) return decision.outcome !== last.outcome;
  const distance = BigInt.asIntN(256, BigInt(decision.outcome)) - BigInt.asIntN(256, BigInt(last.outcome));
  return (distance < 0n ? -distance : distance) > BigInt(terms.tolerance);
}

/** The accounts that can own money, and the amounts in escrow; a test updates the amounts. */
export class Books {
  readonly escrow: [token: bigint, native: bigint] = [0n, 0n];
  readonly #world: World;
  readonly #accounts: readonly string[];

  constructor(world: World, accounts: readonly string[]) {
    this.#world = world;
    this.#accounts = accounts;
  }

  /** By account, in lower case. */
  async credits(currency: number): Promise<Map<string, bigint>> {
    const { oracle } = this.#world;
    const entries = this.#accounts.map(
      async (account) => [account.toLowerCase(), (await oracle.creditOf(account, currency)) as bigint] as const,
    );
    return new Map(await Promise.all(entries));
  }

  /**
   * Expects that the oracle holds the sum of subscription 1, the accounts and the open escrows, in each currency
   * (SE15).
   */
  async expectBalanced(): Promise<void> {
    const { oracle, token, ethers } = this.#world;
    const held = [await token.balanceOf(oracle.target), await ethers.provider.getBalance(oracle.target)] as bigint[];
    const { tokenBalance, nativeBalance } = await oracle.subscriptionOf(subscription);
    for (const currency of currencies) {
      let owed = this.escrow[currency] + (currency === Currency.Token ? tokenBalance : nativeBalance);
      for (const credit of (await this.credits(currency)).values()) owed += credit;
      expect(held[currency], `currency ${currency}`).to.equal(owed);
    }
  }
}
