// Options of `npm run deploy` for the prices of requests.
import type { Command } from "commander";
import { parseUnits } from "viem";

import { ConclaveError } from "../../agents/core/errors.ts";

export interface Prices {
  readonly token: PriceTerms;
  readonly native: PriceTerms;
}

/** As in contracts/types/Types.sol. */
export interface PriceTerms {
  readonly unitPrice: bigint;
  readonly gasRate: bigint;
  readonly gasPriceCap: bigint;
  readonly treasuryPpm: bigint;
}

const NO_PRICES: PriceTerms = { unitPrice: 0n, gasRate: 0n, gasPriceCap: 0n, treasuryPpm: 0n };
/** All prices 0, except the coin's gas rate, which is fixed. */
export const FREE: Prices = { token: NO_PRICES, native: { ...NO_PRICES, gasRate: 10n ** 18n } };

export interface PriceFlags {
  readonly unitPrice: string;
  readonly gasRate: string;
  readonly gasPriceCap: string;
  readonly treasuryPpm: string;
  readonly nativeUnitPrice: string;
  readonly nativeGasPriceCap: string;
  readonly nativeTreasuryPpm: string;
}

const COIN_DECIMALS = 18;
const GWEI_DECIMALS = 9;
/** As in contracts/types/Limits.sol. */
const GAS_PRICE_UNIT = 1_000_000n;
const MAX_TREASURY_PPM = 200_000n;

/** Adds the price options. All prices are 0 by default: then any fee is enough, and only the seats are paid. */
export function addPriceOptions(command: Command): Command {
  return command
    .option("--unit-price <tokens>", "what a seat of a hung committee earns, half of one that decided", "0")
    .option("--gas-rate <tokens>", "tokens for a coin's worth of a relayer's gas", "0")
    .option("--gas-price-cap <gwei>", "most that relayers are paid for gas, for requests in tokens", "0")
    .option("--treasury-ppm <ppm>", "the treasury's part of the pay in tokens, up to 200000", "0")
    .option("--native-unit-price <coins>", "the same four for requests in the chain's coin", "0")
    .option("--native-gas-price-cap <gwei>", "(its gas rate is 1)", "0")
    .option("--native-treasury-ppm <ppm>", "", "0");
}

export function readPrices(flags: PriceFlags, decimals: number): Prices {
  const token = {
    unitPrice: rateOf(flags.unitPrice, decimals, "--unit-price"),
    gasRate: rateOf(flags.gasRate, decimals, "--gas-rate"),
    gasPriceCap: capOf(flags.gasPriceCap, "--gas-price-cap"),
    treasuryPpm: partOf(flags.treasuryPpm, "--treasury-ppm"),
  };
  const native = {
    unitPrice: rateOf(flags.nativeUnitPrice, COIN_DECIMALS, "--native-unit-price"),
    gasRate: FREE.native.gasRate,
    gasPriceCap: capOf(flags.nativeGasPriceCap, "--native-gas-price-cap"),
    treasuryPpm: partOf(flags.nativeTreasuryPpm, "--native-treasury-ppm"),
  };
  return { token, native };
}

export function amountOf(text: string, decimals: number, flag: string): bigint {
  if (!/^\d{1,30}(\.\d{1,30})?$/.test(text)) throw usage(flag, "is a decimal number");
  return parseUnits(text, decimals);
}

export function usage(flag: string, rule: string): ConclaveError {
  return new ConclaveError("USAGE", `Correct the command line: ${flag} ${rule}`, { flag });
}

function rateOf(text: string, decimals: number, flag: string): bigint {
  const amount = amountOf(text, decimals, flag);
  if (amount >= 1n << 80n) throw usage(flag, "is below 2^80 of the smallest unit");
  return amount;
}

function capOf(text: string, flag: string): bigint {
  const wei = amountOf(text, GWEI_DECIMALS, flag);
  if (wei % GAS_PRICE_UNIT !== 0n || wei / GAS_PRICE_UNIT >= 1n << 32n)
    throw usage(flag, "has at most three decimals and is below 4294967.296");
  return wei;
}

function partOf(text: string, flag: string): bigint {
  const ppm = /^\d{1,6}$/.test(text) ? BigInt(text) : MAX_TREASURY_PPM + 1n;
  if (ppm > MAX_TREASURY_PPM) throw usage(flag, `is a whole number up to ${MAX_TREASURY_PPM}`);
  return ppm;
}
