import type { Hex, TransactionReceipt, WalletClient } from "viem";
import type { Connection } from "../../agents/adapters/chain/connection.ts";
import { operatorActionsOf } from "../../agents/adapters/chain/operator.ts";
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
import { ConclaveError, walletFailed } from "./errors.ts";

/** How long to wait for a transaction that the wallet has sent. */
const RECEIPT_TIMEOUT_MS = 180_000;

/** What an account does with its wallet. */
export function walletActions(connection: Connection, wallet: SigningWallet): OperatorActions {
  return operatorActionsOf(connection, walletSender(connection, wallet));
}

/**
 * Sends through a wallet. Every call is tried before the wallet asks its user, so that nobody signs what the contract
 * refuses.
 */
function walletSender(connection: Connection, { client: wallet, account }: SigningWallet): Sender {
  const address = account.address;
  return {
    account: {
      address,
      signTypedData: async (typed) => {
        await requireChain(connection, wallet);
        return wallet
          .signTypedData({ ...typed, account } as unknown as Parameters<WalletClient["signTypedData"]>[0])
          .catch((error: unknown) => {
            throw walletFailed("Sign the permit", error);
          });
      },
    } satisfies SigningAccount,
    send: async (call, signal) => {
      await requireChain(connection, wallet);
      const gas = call.gas ?? (await gasOf(connection, address, call, signal));
      signal?.throwIfAborted();
      const hash = await wallet
        .sendTransaction({ account, chain: null, gas, ...callMessage(call) })
        .catch((error: unknown) => {
          throw walletFailed(call.doing, error);
        });
      const receipt = await receiptOf(connection, call, hash, signal);
      if (receipt.status === "success") return receipt;
      throw await revertOf(connection, address, call, receipt, signal);
    },
  };
}

async function requireChain({ domain }: Connection, wallet: WalletClient): Promise<void> {
  const found = await wallet.getChainId().catch((error: unknown) => {
    throw walletFailed("Read the wallet's chain", error);
  });
  if (found === domain.chainId) return;
  throw new ConclaveError(
    "WALLET_WRONG_CHAIN",
    `Use the wallet: it is on chain ${found}, but the deployment is on chain ${domain.chainId}; switch the wallet to that chain`,
    { field: "walletClient", expected: domain.chainId, found },
  );
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
async function receiptOf(
  connection: Connection,
  { doing }: TransactionCall,
  hash: Hex,
  signal: AbortSignal | undefined,
): Promise<TransactionReceipt> {
  let isCancelled = false;
  const receipt = await connection.call(doing, signal, (client) =>
    client
      .waitForTransactionReceipt({
        hash,
        timeout: RECEIPT_TIMEOUT_MS,
        onReplaced: ({ reason }) => (isCancelled = reason !== "repriced"),
      })
      .catch((error: unknown) => {
        if (!(error instanceof Error) || error.name !== "WaitForTransactionReceiptTimeoutError") throw error;
        const seconds = RECEIPT_TIMEOUT_MS / 1000;
        return new ConclaveError("CHAIN_TIMEOUT", `${doing}: no receipt of ${hash} within ${seconds} s`, {
          transactionHash: hash,
        });
      }),
  );
  if (receipt instanceof Error) throw receipt;
  if (!isCancelled) return receipt;
  throw new ConclaveError("WALLET_REJECTED", `${doing}: the wallet replaced transaction ${hash} by another one`, {
    transactionHash: hash,
  });
}
