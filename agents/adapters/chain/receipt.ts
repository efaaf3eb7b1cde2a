// Receipts on local chains, where a transaction may make the last block for a long time.
import { WaitForTransactionReceiptTimeoutError, type PublicClient, type TransactionReceipt } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import type { Hex } from "../../core/types.ts";
import { sleep } from "./backoff.ts";

const POLL_MS = 50;
const TIMEOUT_MS = 180_000;

/**
 * Waits until a transaction is mined. viem's own `waitForTransactionReceipt` asks when a block comes, and not while it still
 * reads the block before: on a chain without a later block it then waits in vain.
 * @throws WaitForTransactionReceiptTimeoutError after three minutes
 */
export async function receiptOf(
  client: Pick<PublicClient, "getTransactionReceipt">,
  hash: Hex,
  pollMs: number = POLL_MS,
): Promise<TransactionReceipt> {
  const giveUpAtMs = Date.now() + TIMEOUT_MS;
  for (;;) {
    const receipt = await client.getTransactionReceipt({ hash }).catch(nullIfNotFound);
    if (receipt !== null) return receipt;
    if (Date.now() >= giveUpAtMs) throw new WaitForTransactionReceiptTimeoutError({ hash });
    await sleep(pollMs);
  }
}

/** Null where the node knows no receipt yet; throws every other error again. */
export function nullIfNotFound(error: unknown): null {
  if (error instanceof Error && error.name === "TransactionReceiptNotFoundError") return null;
  throw error;
}

/** Throws CHAIN_UNREACHABLE if the node tells neither success nor a revert: then nobody knows. */
export function requireStatus(doing: string, receipt: TransactionReceipt): TransactionReceipt {
  // viem passes on what it does not know.
  if (["success", "reverted"].includes(receipt.status)) return receipt;
  throw new ConclaveError("CHAIN_UNREACHABLE", `${doing}: the node answers with a receipt that has no status`);
}
