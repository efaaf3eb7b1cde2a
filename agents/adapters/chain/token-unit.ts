import { erc20Abi } from "viem";
import type { Address } from "../../core/types.ts";
import type { Connection } from "./connection.ts";

/** Apart from the permits, which bring a curve: a page loads this at once. */

export interface Token {
  readonly address: Address;
  readonly symbol: string;
  readonly decimals: number;
}

/** Symbols are printed on a terminal, and a hostile token could use any characters. */
const SYMBOL = /^[\x21-\x7e]{1,16}$/;

/** Reads the token's unit. Name and decimals are optional in ERC-20: without them amounts are in the smallest unit. */
export async function readToken(connection: Connection, address: Address, signal?: AbortSignal): Promise<Token> {
  const token = { address, abi: erc20Abi } as const;
  const [symbol, decimals] = await connection.call("Read the token", signal, (client) =>
    Promise.all([
      client.readContract({ ...token, functionName: "symbol" }).catch(nullIfUnsupported),
      client.readContract({ ...token, functionName: "decimals" }).catch(nullIfUnsupported),
    ]),
  );
  return { address, symbol: symbol !== null && SYMBOL.test(symbol) ? symbol : "tokens", decimals: decimals ?? 0 };
}

/**
 * Returns null if the token lacks the function, so that it reverts or returns nothing; other failures are the node's.
 */
export function nullIfUnsupported(error: unknown): null {
  if (error instanceof Error && error.name === "ContractFunctionExecutionError") return null;
  throw error;
}
