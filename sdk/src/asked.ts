import type { Hex } from "viem";
import type { Connection } from "../../agents/adapters/chain/connection.ts";
import { lower } from "../../agents/adapters/chain/decode.ts";
import { askedIn } from "../../agents/adapters/chain/oracle-actions.ts";
import { nullIfNotFound, requireStatus } from "../../agents/adapters/chain/receipt.ts";
import { revertOf, toReceipt } from "../../agents/adapters/chain/transactions.ts";
import type { Receipt } from "../../agents/ports/chain.ts";
import { minedReceipt } from "./wallet.ts";

const DOING = "Wait for the question";

/** Waits until a transaction that asks is mined, and returns its receipt and the request. Throws the contract's refusal. */
export async function readAsked(
  connection: Connection,
  hash: Hex,
  signal: AbortSignal | undefined,
): Promise<ReturnType<typeof askedIn> & { readonly receipt: Receipt }> {
  // At once where it is mined, and with the node's error where it does not answer.
  const mined = await connection.call(DOING, signal, (client) =>
    client.getTransactionReceipt({ hash }).catch(nullIfNotFound),
  );
  const receipt = mined === null ? await minedReceipt(connection, DOING, hash, signal) : requireStatus(DOING, mined);
  if (receipt.status === "success")
    return { ...askedIn(receipt, connection.domain.oracle), receipt: toReceipt(receipt) };
  const { from, to, input, value } = await connection.call(DOING, signal, (client) => client.getTransaction({ hash }));
  const call = { to: lower(to ?? connection.domain.oracle), data: input, value, doing: "Ask the question" };
  throw await revertOf(connection, from, call, receipt, signal);
}
