// The amounts that follow from docs/spec/settlement.md, computed without the contracts.
import { LAYOUTS } from "../../../agents/core/encoding/layouts.ts";
import { expect } from "chai";
import { ZeroAddress, getAddress, getBytes } from "ethers";

import type { DecidedRound } from "../../support/contracts/course.ts";
import { Currency, fieldOf, Status, type Terms, unpackRound } from "../../support/contracts/typed-data.ts";
import { subscription, type PriceTerms, type World } from "../../support/contracts/world.ts";

export const currencies = [Currency.Token, Currency.Native] as const;

const KIND_NUMBER = 2;
const KIND_TEXT = 3;
/** The longest text, in bytes (MAX_ANSWER_BYTES). */
const LONGEST_TEXT = 1_024;

/** The gas that is paid for (contracts/types/Limits.sol). */
export const paidGas = {
  relayBase: 65_000n,
  relaySeat: 8_000n,
  pastSeat: 5_000n,
  answerByte: 26n,
  payBase: 35_000n,
  paySeat: 8_000n,
  change: 16_000n,
  settle: 55_000n,
  settleRound: 35_000n,
  replace: 74_000n,
  delivery: 83_000n,
  fallBack: 111_000n,
} as const;

const sizeAfter = (terms: Terms, appeals: number): number => 2 ** appeals * (terms.committeeSize + 1) - 1;

const levelsOf = (terms: Terms): readonly number[] =>
  Array.from({ length: terms.appeals + 1 }, (_, level) => sizeAfter(terms, level));

/** Returns U, the most units that a request can cost. */
export const mostUnits = (terms: Terms): bigint => {
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
  const before = sum(levelsOf(terms).slice(0, appeals + 1));
  const relays = Array.from({ length: 1 + terms.retries }, (_, hung) => relayGasOf(size, before + hung * size));
  const gas = relays.reduce((all, one) => all + one, 0n);
  return BigInt((2 + terms.retries) * size) * appealUnitOf(terms, prices) + costOf(prices, gas, prices.gasPriceCap);
}

const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);

/** Returns the gas of a commit that brings so many seats of earlier rounds along, without its callback and without pay. */
export const relayGasOf = (size: number, past = 0): bigint =>
  paidGas.relayBase + paidGas.relaySeat * BigInt(size) + paidGas.pastSeat * BigInt(past);

/** Returns the gas of an answer's bytes. */
const answerGasOf = (terms: Terms, length: number): bigint =>
  terms.kind === KIND_TEXT ? paidGas.answerByte * BigInt(length) : 0n;

/** Returns the gas of the relay of a round, without its callback and without pay. */
function roundGasOf(terms: Terms, rounds: readonly DecidedRound[], index: number): bigint {
  const sizes = rounds.map(({ committee }) => committee.length);
  const bytes = getBytes(rounds[index]!.decision.answer).length;
  return relayGasOf(sizes[index]!, sum(sizes.slice(0, index))) + answerGasOf(terms, bytes);
}

/** Returns the gas of settling so many rounds, without the pay of their seats. */
export const settleGasOf = (rounds: number): bigint => paidGas.settle + paidGas.settleRound * BigInt(rounds);

/** Returns the gas of paying so many seats and changing so many reputations. */
export const payGasOf = (seats: number, changes = 0): bigint =>
  paidGas.payBase + paidGas.paySeat * BigInt(seats) + paidGas.change * BigInt(changes);

const changesOf = ({ decision }: DecidedRound): number => getBytes(decision.reputationChanges).length / 2;

const costOf = (prices: PriceTerms, gas: bigint, gasPrice: bigint): bigint =>
  (gas * (gasPrice < prices.gasPriceCap ? gasPrice : prices.gasPriceCap) * prices.gasRate) / 10n ** 18n;

/** Returns the reserve for gas (SE13). */
export function reserveOf(terms: Terms, prices: PriceTerms): bigint {
  const levels = levelsOf(terms);
  const sizes = [...levels, ...Array<number>(terms.retries).fill(levels.at(-1)!)];
  const callback =
    BigInt(terms.callbackGasLimit) + (sizes.length === 1 ? 0n : paidGas.fallBack + settleGasOf(sizes.length));
  const replaces = BigInt(terms.retries) * paidGas.replace;
  const relays = sizes.map((size, index) => relayGasOf(size, sum(sizes.slice(0, index))));
  const others = callback + payGasOf(sum(sizes), sum(sizes)) + replaces + answerGasOf(terms, LONGEST_TEXT);
  return costOf(
    prices,
    relays.reduce((all, one) => all + one, others),
    prices.gasPriceCap,
  );
}

/** Returns the pay for a call of replace. */
export const replacePayOf = (prices: PriceTerms, gasPrice: bigint): bigint => costOf(prices, paidGas.replace, gasPrice);

/** Returns what fallBack takes of a bond. */
export const unansweredCostOf = (prices: PriceTerms, gasPrice: bigint): bigint =>
  costOf(prices, paidGas.fallBack, gasPrice);

/** Returns the pay for finalize or refund. */
export const deliveryPayOf = (terms: Terms, prices: PriceTerms, gasPrice: bigint): bigint =>
  costOf(prices, paidGas.delivery + BigInt(terms.callbackGasLimit), gasPrice);

/** Returns the pay for fallBack. At the cap it is what the reserve holds for a delivery. */
export const fallBackPayOf = (terms: Terms, prices: PriceTerms, gasPrice: bigint): bigint =>
  costOf(prices, paidGas.fallBack + BigInt(terms.callbackGasLimit), gasPrice);

/** Returns the smallest fee (SE18). */
export const quoteOf = (terms: Terms, prices: PriceTerms): bigint =>
  mostUnits(terms) * prices.unitPrice + reserveOf(terms, prices);

export interface Pay {
  /** By account, in lower case. */
  readonly credits: Map<string, bigint>;
  /** The amount that the asker gets back. */
  readonly rest: bigint;
  /** The attempt, what the seats divide, the treasury's part, the relayer and its pay for gas, for each round. */
  readonly rounds: readonly (readonly [bigint, bigint, bigint, string, bigint])[];
}

/** Who gets the pay that is not in the record. */
interface Payees {
  readonly seats: string;
  readonly treasury: string;
  /** Who calls settle at which gas price; null where the commit settles. */
  readonly settler: { readonly account: string; readonly gasPrice: bigint } | null;
  /** How many silent committees were replaced. */
  readonly replaced?: number;
}

/** Returns the payments of a final record (SE10 to SE14). */
export function payOf(terms: Terms, rounds: readonly DecidedRound[], prices: PriceTerms, payees: Payees): Pay {
  const credits = new Map<string, bigint>();
  const paid: (readonly [bigint, bigint, bigint, string, bigint])[] = [];
  const unitAt = ({ round }: DecidedRound): bigint =>
    (unpackRound(round).appeals === 0 ? unitOf : appealUnitOf)(terms, prices);
  let changes = 0;
  let rest = BigInt(terms.fee);
  rest -= BigInt(payees.replaced ?? 0) * replacePayOf(prices, prices.gasPriceCap);
  // The oracle paid this when the request was finalized.
  if (!isFinalAtOnce(terms, rounds.at(-1)!)) rest -= fallBackPayOf(terms, prices, prices.gasPriceCap);
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
    const paying = payees.settler === null ? payGasOf(one.committee.length, changesOf(one)) : 0n;
    const relayerPay = costOf(prices, roundGasOf(terms, rounds, index) + callback + paying, gasPriceOf(one));
    const relayer = getAddress(`0x${relay.slice(-40)}`);
    credit(relayer, relayerPay);
    const left = pay - treasuryPay;
    const isAppealed = index < rounds.length - 1 && appellant !== ZeroAddress;
    const stands = !isAppealed || !isOverturned(terms, rounds, index);
    paid.push([BigInt(decision.attempt), stands ? left : 0n, treasuryPay, relayer, relayerPay]);
    if (isAppealed) {
      const bond = bondAfter(terms, unpackRound(round).appeals, prices);
      rest += bond;
      if (!stands) {
        credit(appellant, bond + (paysNobody(decision) ? 0n : left / 2n));
        continue;
      }
      const costs = calledBy(rounds, index).map((other) => {
        const called = rounds[other]!;
        const most = unitAt(called) * unitsOf(called);
        const toTreasury = (most * prices.treasuryPpm) / 1_000_000n;
        // SE12: what does not go to seats, or to their appellant, the asker has already.
        const isLost = called.appellant !== ZeroAddress && isOverturned(terms, rounds, other);
        const kept = isLost ? (most - toTreasury) / 2n : most - toTreasury;
        const cost = toTreasury + (paysNobody(called.decision) ? 0n : kept);
        return cost + costOf(prices, roundGasOf(terms, rounds, other), gasPriceOf(called));
      });
      credit(
        appellant,
        costs.reduce((held, cost) => held - cost, bond),
      );
    }
    changes += changesOf(one);
    // SE20: 255 stands for a seat that said nothing.
    const shares = [...getBytes(decision.shares)].map((share) => (share === 0xff ? 0n : BigInt(share)));
    const total = shares.reduce((all, share) => all + share, 0n);
    if (total === 0n) continue;
    for (const share of shares) credit(payees.seats, (left * share) / total);
  }
  if (payees.settler !== null) {
    const seats = sum(rounds.map(({ committee }) => committee.length));
    credit(
      payees.settler.account,
      costOf(prices, settleGasOf(rounds.length) + payGasOf(seats, changes), payees.settler.gasPrice),
    );
  }
  return { credits, rest, rounds: paid };
}

const unitsOf = ({ committee, decision }: DecidedRound): bigint =>
  BigInt(decision.status === Status.Hung ? committee.length : 2 * committee.length);

/** Returns the places of the rounds after an appeal against the round at `index`, up to the next appeal. */
function calledBy(rounds: readonly DecidedRound[], index: number): readonly number[] {
  const end = rounds.findIndex(({ appellant }, later) => later > index && appellant !== ZeroAddress);
  return [...rounds.keys()].slice(index + 1, end < 0 ? rounds.length : end + 1);
}

const gasPriceOf = ({ relay }: DecidedRound): bigint => fieldOf(LAYOUTS.relay, relay, "gasPrice") * 1_000_000n;

/** True if the commit made the callback (SE13). */
function isFinalAtOnce(terms: Terms, { round, decision }: DecidedRound): boolean {
  const { appeals } = unpackRound(round);
  const isRetried = decision.status === Status.Hung && decision.attempt - appeals < terms.retries;
  return !isRetried && !isAskedAgain(terms, appeals, decision) && appeals === terms.appeals;
}

/** SE25. */
function isAskedAgain(terms: Terms, appeals: number, { status, attempt }: DecidedRound["decision"]): boolean {
  return status === Status.TooEarly && appeals === 0 && attempt + 1 < terms.retries;
}

/** True if no seat has a share; SE20: 255 stands for a seat that said nothing. */
function paysNobody({ shares }: DecidedRound["decision"]): boolean {
  return getBytes(shares).every((share) => share === 0 || share === 0xff);
}

/** True if a seat was right at first; a share of 1 says that nothing was scored (PY6). */
function isScored({ shares }: DecidedRound["decision"]): boolean {
  return getBytes(shares).some((share) => share > 1 && share < 0xff);
}

/** True if the last round after this one that says anything says something else (SE10). */
function isOverturned(terms: Terms, rounds: readonly DecidedRound[], index: number): boolean {
  const { decision } = rounds[index]!;
  const last = rounds
    .slice(index + 1)
    .map((later) => later.decision)
    .findLast((later) => later.status === Status.Decided || (later.status !== Status.Hung && isScored(later)));
  if (last === undefined) return false;
  if (decision.status !== last.status) return true;
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
