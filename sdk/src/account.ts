import type { WalletClient } from "viem";
import { ConclaveError } from "./errors.ts";

/** A wallet with the account that signs. */
export interface SigningWallet {
  readonly client: WalletClient;
  readonly account: NonNullable<WalletClient["account"]>;
}

/** Throws WALLET_MISSING without a wallet, or if it has no account. */
export function signingWallet(client: WalletClient | undefined): SigningWallet {
  if (client === undefined)
    throw new ConclaveError("WALLET_MISSING", "Use the wallet: createConclave was given no walletClient", {
      field: "walletClient",
    });
  const { account } = client;
  if (account !== undefined) return { client, account };
  throw new ConclaveError(
    "WALLET_MISSING",
    "Use the wallet: the walletClient has no account; create it with `account`, e.g. the first one of eth_requestAccounts",
    { field: "walletClient.account" },
  );
}
