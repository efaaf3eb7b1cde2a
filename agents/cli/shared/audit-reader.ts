import { createChainReader, type ReaderOptions } from "../../adapters/chain/reader.ts";
import { createTransactionReader } from "../../adapters/chain/transaction-reader.ts";
import type { ChainReader, TransactionReader } from "../../ports/chain.ts";

/**
 * Creates a reader of events and of the transactions behind them. Throws CHAIN_UNREACHABLE, CHAIN_WRONG_ID or
 * CHAIN_NO_CONTRACT.
 */
export async function createAuditReader(
  options: ReaderOptions,
  signal: AbortSignal,
): Promise<ChainReader & TransactionReader> {
  const [reader, transactions] = await Promise.all([
    createChainReader(options, signal),
    createTransactionReader(options, signal),
  ]);
  return { ...reader, ...transactions };
}
