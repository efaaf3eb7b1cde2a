// Options of `npm run deploy` for the prices of requests.
import type { StrictCommand } from "../../agents/cli/shared/strict-command.ts";
import { formatGwei, formatUnits, parseUnits } from "viem";

import { ConclaveError } from "../../agents/core/errors.ts";
import { LOCAL_CHAINS } from "../../agents/adapters/chain/beacon.ts";
import { DEFAULT_PRICES, type Prices } from "./prices.ts";

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

/** Adds the price options. Amounts of the default prices are in whole tokens or coins, whatever the token's decimals. */
export function addPriceOptions(command: StrictCommand): StrictCommand {
  const { token, native } = DEFAULT_PRICES;
  const whole = (amount: bigint): string => formatUnits(amount, COIN_DECIMALS);
  return command
    .option(
      "--unit-price <tokens>",
      "what a seat of a hung committee earns, half of one that decided; above 0 off local chains; the default is for a token worth a dollar (docs/deploying.md)",
      whole(token.unitPrice),
    )
    .option("--gas-rate <tokens>", "tokens for a coin's worth of a relayer's gas", whole(token.gasRate))
    .option(
      "--gas-price-cap <gwei>",
      "most that relayers are paid for gas, for requests in tokens",
      formatGwei(token.gasPriceCap),
    )
    .option("--treasury-ppm <ppm>", "the treasury's part of the pay in tokens, up to 200000", String(token.treasuryPpm))
    .option(
      "--native-unit-price <coins>",
      "price of a unit of pay for requests in the chain's coin",
      whole(native.unitPrice),
    )
    .option(
      "--native-gas-price-cap <gwei>",
      "most that relayers are paid for gas, for requests in the chain's coin",
      formatGwei(native.gasPriceCap),
    )
    .option(
      "--native-treasury-ppm <ppm>",
      "the treasury's part of the pay in the chain's coin, up to 200000",
      String(native.treasuryPpm),
    );
}

/** Reads the prices of a deployment on this chain. Throws USAGE. */
export function readPrices(flags: PriceFlags, decimals: number, chainId: number): Prices {
  const token = {
    unitPrice: rateOf(flags.unitPrice, decimals, "--unit-price"),
    gasRate: rateOf(flags.gasRate, decimals, "--gas-rate"),
    gasPriceCap: capOf(flags.gasPriceCap, "--gas-price-cap"),
    treasuryPpm: partOf(flags.treasuryPpm, "--treasury-ppm"),
  };
  const native = {
    unitPrice: rateOf(flags.nativeUnitPrice, COIN_DECIMALS, "--native-unit-price"),
    gasRate: DEFAULT_PRICES.native.gasRate,
    gasPriceCap: capOf(flags.nativeGasPriceCap, "--native-gas-price-cap"),
    treasuryPpm: partOf(flags.nativeTreasuryPpm, "--native-treasury-ppm"),
  };
  if (!LOCAL_CHAINS.includes(chainId)) {
    requirePaid(token.unitPrice, "--unit-price", DEFAULT_PRICES.token.unitPrice);
    requirePaid(native.unitPrice, "--native-unit-price", DEFAULT_PRICES.native.unitPrice);
  }
  return { token, native };
}

export function amountOf(text: string, decimals: number, flag: string): bigint {
  if (!/^\d{1,30}(\.\d{1,30})?$/.test(text)) throw usage(flag, "is a decimal number");
  return parseUnits(text, decimals);
}

export function usage(flag: string, rule: string): ConclaveError {
  return new ConclaveError("USAGE", `Correct the command line: ${flag} ${rule}`, { flag });
}

/** Refuses a price under which answers are free: whoever asks pays nobody, and an appeal risks nothing. */
function requirePaid(unitPrice: bigint, flag: string, usual: bigint): void {
  if (unitPrice !== 0n) return;
  const way = `give a price above 0, leave it out for ${formatUnits(usual, COIN_DECIMALS)}, or deploy to a local chain (${LOCAL_CHAINS.join(", ")})`;
  throw usage(flag, `is 0, so nobody is paid for answers: ${way}`);
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
