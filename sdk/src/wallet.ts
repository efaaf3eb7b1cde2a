import type { Hex, TransactionReceipt, WalletClient } from "viem";
import { LOCAL_CHAINS } from "../../agents/adapters/chain/beacon.ts";
import { sleep } from "../../agents/adapters/chain/backoff.ts";
import type { Connection } from "../../agents/adapters/chain/connection.ts";
import { operatorActionsOf } from "../../agents/adapters/chain/operator.ts";
import { requireStatus } from "../../agents/adapters/chain/receipt.ts";
import {
  callMessage,
  CREDIT_GAS,
  padded,
  revertOf,
  type Sender,
  type SigningAccount,
  type TransactionCall,
} from "../../agents/adapters/chain/transactions.ts";
import type { OperatorActions } from "../../agents/ports/chain.ts";
import type { SigningWallet } from "./account.ts";
import { shown } from "./arguments.ts";
import { ConclaveError, isUnsupported, walletFailed } from "./errors.ts";

/** How long to wait for a transaction that the wallet has sent. */
const RECEIPT_TIMEOUT_MS = 180_000;
/**
 * How long viem may wait on a local chain until it is told to begin anew: it asks for the receipt when a block comes, and a local chain
 * may make no other one. Elsewhere it would then forget whether the wallet replaced the transaction.
 */
const LOCAL_TRY_MS = 3_000;
/** viem's names. The second comes where one node knows the block of the transaction and the next one does not know its receipt yet. */
const NO_RECEIPT_YET = new Set(["WaitForTransactionReceiptTimeoutError", "TransactionReceiptNotFoundError"]);

const READ_CHAIN = "Read the wallet's chain";
const TRANSACTION_HASH = /^0x[0-9a-f]{64}$/i;

/** Hears of each transaction that the wallet has sent, before it is mined. */
export type OnSent = (call: TransactionCall, hash: Hex) => void;

/** What an account does with its wallet. */
export function walletActions(connection: Connection, wallet: SigningWallet, onSent: OnSent): OperatorActions {
  return operatorActionsOf(connection, walletSender(connection, wallet, onSent));
}

/**
 * Sends through a wallet. Every call is tried before the wallet asks its user, so that nobody signs what the contract
 * refuses.
 */
function walletSender(connection: Connection, { client: wallet, account }: SigningWallet, onSent: OnSent): Sender {
  const address = account.address;
  return {
    account: {
      address,
      signTypedData: async (typed) => {
        await requireChain(connection, wallet);
        return wallet.signTypedData({ ...typed, account }).catch((error: unknown) => {
          if (isUnsupported(error)) return null;
          throw walletFailed("Sign the permit", error, true);
        });
      },
    } satisfies SigningAccount,
    send: async (call, signal) => {
      const gas = call.gas ?? (await gasOf(connection, address, call, signal));
      // Directly before it sends: the user may change the chain while the gas is estimated.
      await requireChain(connection, wallet);
      signal?.throwIfAborted();
      const hash = await wallet
        .sendTransaction({ account, chain: null, gas, ...callMessage(call) })
        .catch((error: unknown) => {
          throw walletFailed(call.doing, error);
        });
      // Nobody could wait for anything else.
      if (!TRANSACTION_HASH.test(hash)) throw nonsense(call.doing, hash, "no hash of a transaction");
      onSent(call, hash);
      const receipt = await minedReceipt(connection, call.doing, hash, signal);
      if (receipt.status === "success") return receipt;
      throw await revertOf(connection, address, call, receipt, signal);
    },
  };
}

async function requireChain({ domain }: Connection, wallet: WalletClient): Promise<void> {
  const found = await wallet.getChainId().catch((error: unknown) => {
    throw walletFailed(READ_CHAIN, error, true);
  });
  if (found === domain.chainId) return;
  if (!Number.isSafeInteger(found) || found < 1) throw nonsense(READ_CHAIN, found, "no chain id", true);
  throw new ConclaveError(
    "WALLET_WRONG_CHAIN",
    `Use the wallet: it is on chain ${found}, but the deployment is on chain ${domain.chainId}; switch the wallet to that chain`,
    { field: "walletClient", expected: domain.chainId, found },
  );
}

/** What a wallet answers is any value, whatever its type says. */
function nonsense(doing: string, answer: unknown, isNot: string, isUnsent = false): Error {
  return walletFailed(doing, new Error(`it answers ${shown(answer)}, which is ${isNot}`), isUnsent);
}

async function gasOf(
  connection: Connection,
  address: Hex,
  call: TransactionCall,
  signal: AbortSignal | undefined,
): Promise<bigint> {
  const estimate = await connection.call(call.doing, signal, (client) =>
    client.estimateGas({ account: address, ...callMessage(call) }),
  );
  return padded(estimate) + CREDIT_GAS;
}

/** Waits for the transaction, or for the one that replaced it with a higher fee. */
export async function minedReceipt(
  connection: Connection,
  doing: string,
  hash: Hex,
  signal: AbortSignal | undefined,
): Promise<TransactionReceipt> {
  const endMs = Date.now() + RECEIPT_TIMEOUT_MS;
  const tryMs = LOCAL_CHAINS.includes(connection.domain.chainId) ? LOCAL_TRY_MS : RECEIPT_TIMEOUT_MS;
  let isCancelled = false;
  let receipt: TransactionReceipt | null = null;
  while (receipt === null) {
    const leftMs = endMs - Date.now();
    if (leftMs <= 0)
      throw new ConclaveError(
        "CHAIN_TIMEOUT",
        `${doing}: no receipt of ${hash} within ${RECEIPT_TIMEOUT_MS / 1000} s`,
        {
          transactionHash: hash,
        },
      );
    receipt = await connection.call(doing, signal, (client) =>
      client
        .waitForTransactionReceipt({
          hash,
          timeout: Math.min(leftMs, tryMs),
          onReplaced: ({ reason }) => (isCancelled = reason !== "repriced"),
        })
        .catch(async (error: unknown) => {
          if (!(error instanceof Error) || !NO_RECEIPT_YET.has(error.name)) throw error;
          await sleep(client.pollingInterval, signal);
          return null;
        }),
    );
  }
  if (!isCancelled) return requireStatus(doing, receipt);
  throw new ConclaveError("WALLET_REJECTED", `${doing}: the wallet replaced transaction ${hash} by another one`, {
    transactionHash: hash,
  });
}
