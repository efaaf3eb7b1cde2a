import { agentRegistryAbi, decisionOracleAbi, settlementAbi } from "@conclave/contracts/abi";
import { LAYOUTS } from "../../core/encoding/layouts.ts";
import { packTerms, unpackWord } from "../../core/encoding/words.ts";
import type { Address, Request, Round, Terms } from "../../core/types.ts";
import { mostUnits } from "../../core/request/rounds.ts";
import type { Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import { currencyCode } from "./encode.ts";

/** A price list, as contracts/libraries/PricesLib.sol unpacks it. */
export interface PriceList {
  /** Version of the list, which is in the ids of its requests. */
  readonly version: number;
  /** Pay of a seat of a hung committee, half that of one that decided; in the smallest unit of the currency. */
  readonly unitPrice: bigint;
  /** Units of the currency for one coin's worth of gas. */
  readonly gasRate: bigint;
  /** Wei per gas. */
  readonly gasPriceCap: bigint;
  /** Part that goes to the treasury. */
  readonly treasuryPpm: number;
  /** True if requests are taken. */
  readonly open: boolean;
}

const GAS_PRICE_UNIT = 1_000_000n;

export function unpackPrices(prices: bigint): PriceList {
  const { version, unitPrice, gasRate, gasPriceCap, treasuryPpm, open } = unpackWord(LAYOUTS.prices, prices);
  return {
    version: Number(version),
    unitPrice,
    gasRate,
    gasPriceCap: gasPriceCap * GAS_PRICE_UNIT,
    treasuryPpm: Number(treasuryPpm),
    open: open !== 0n,
  };
}

const settlements = new WeakMap<Connection, Address>();

/** Returns the settlement contract, which is bound to the oracle for ever: asked for once a connection. */
export async function readSettlement(connection: Connection, signal?: AbortSignal): Promise<Address> {
  const known = settlements.get(connection);
  if (known !== undefined) return known;
  const found = await connection.call("Find the settlement contract", signal, (client) =>
    client.readContract({ address: connection.domain.oracle, abi: decisionOracleAbi, functionName: "settlement" }),
  );
  const settlement = lower(found);
  settlements.set(connection, settlement);
  return settlement;
}

export async function readFeeToken(connection: Connection, signal?: AbortSignal): Promise<Address> {
  const token = await connection.call("Read the fee token", signal, (client) =>
    client.readContract({ address: connection.domain.oracle, abi: decisionOracleAbi, functionName: "feeToken" }),
  );
  return lower(token);
}

/** Returns the smallest fee of a request with these terms, whatever fee they name. */
export async function readQuote(connection: Connection, terms: Terms, signal?: AbortSignal): Promise<bigint> {
  const args = [packTerms(terms)] as const;
  return connection.call("Read the price of the request", signal, (client) =>
    client.readContract({ address: connection.domain.oracle, abi: decisionOracleAbi, functionName: "quote", args }),
  );
}

/** Returns how many agents can be drawn in the running epoch. */
export async function readDrawableAgents(connection: Connection, signal?: AbortSignal): Promise<number> {
  const registry = { address: connection.registry, abi: agentRegistryAbi } as const;
  const drawable = await connection.call("Count the agents that can be drawn", signal, (client) =>
    client.readContract({ ...registry, functionName: "drawableCount" }),
  );
  return Number(drawable);
}

/** As in contracts/types/Limits.sol. */
const BOND_UNIT_CAP = 2n;

/** Returns the price of a unit of pay of the committees that appeals call. */
export async function readAppealUnit(connection: Connection, terms: Terms, signal?: AbortSignal): Promise<bigint> {
  const args = [currencyCode(terms.currency)] as const;
  const [quote, prices] = await Promise.all([
    readQuote(connection, terms, signal),
    connection.call("Read the price list", signal, (client) =>
      client.readContract({
        address: connection.domain.oracle,
        abi: decisionOracleAbi,
        functionName: "pricesOf",
        args,
      }),
    ),
  ]);
  return appealUnitOf(terms, quote, unpackPrices(prices).unitPrice);
}

/**
 * Computes that price as contracts/libraries/PricesLib.sol does: the part of the fee above the quote raises the price of every unit, and
 * the list bounds it.
 */
export function appealUnitOf(
  terms: Pick<Terms, "fee" | "committeeSize" | "appeals" | "retries">,
  quote: bigint,
  unitPrice: bigint,
): bigint {
  const unit = unitPrice + (terms.fee - quote) / mostUnits(terms);
  const most = BOND_UNIT_CAP * unitPrice;
  return most !== 0n && most < unit ? most : unit;
}

/** Returns what an appeal against a decision of this round costs. */
export async function readBond(
  connection: Connection,
  { id, terms }: Request,
  round: Round,
  signal?: AbortSignal,
): Promise<bigint> {
  const address = await readSettlement(connection, signal);
  const args = [id, packTerms(terms), round] as const;
  return connection.call("Read the bond of an appeal", signal, (client) =>
    client.readContract({ address, abi: settlementAbi, functionName: "bondOf", args }),
  );
}
