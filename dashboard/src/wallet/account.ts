import { custom, getAddress, http, isAddress, toHex, type WalletClient } from "viem";
import { walletFailed } from "../../../sdk/src/errors.ts";
import { walletClientOf } from "../clients.ts";
import type { Settings } from "../settings/settings.ts";
import type { BrowserWallet } from "./providers.ts";

/** An account that signs and pays. */
export interface Account {
  /** Tells the wallets of a browser apart, also after a reload. */
  readonly wallet: string;
  /** Name of the wallet; a stranger's text. */
  readonly name: string;
  readonly address: `0x${string}`;
  readonly client: WalletClient;
  /** What only a wallet of the browser has; null for the burner account. */
  readonly browser: BrowserAccount | null;
}

interface BrowserAccount {
  /** Asks the wallet to go to the chain of the deployment. */
  readonly switchChain: () => Promise<void>;
  /** Hears what the user changes in the wallet, until the returned function is called. */
  readonly follow: (changes: Changes) => () => void;
}

interface Changes {
  /** Another account, or none. */
  readonly onAccount: (account: Account | null) => void;
  readonly onChain: () => void;
}

type Whole = BrowserWallet["provider"];
/** Not every wallet tells what its user changes. */
type Provider = Pick<Whole, "request"> & Partial<Pick<Whole, "on" | "removeListener">>;

/** EIP-3326: the wallet does not know the chain. */
const UNKNOWN_CHAIN = 4902;

export const BURNER = "burner";
/** Begins the key of the query that reads the wallet's chain. */
export const WALLET_CHAIN = "walletChain";

/** Asks the wallet for an account. */
export async function connect(wallet: BrowserWallet, settings: Settings): Promise<Account> {
  let shown: unknown;
  try {
    shown = await wallet.provider.request({ method: "eth_requestAccounts" });
  } catch (error) {
    throw walletFailed("Connect the wallet", error, true);
  }
  const account = accountOf(wallet, settings, shown);
  if (account === null)
    throw new Error("The wallet shows no account. Unlock it and choose one, or connect another wallet.");
  return account;
}

/** Returns the account that the wallet still shows to this page, without asking the user; null if there is none. */
export async function reconnect(wallet: BrowserWallet, settings: Settings): Promise<Account | null> {
  return accountOf(wallet, settings, await wallet.provider.request({ method: "eth_accounts" }));
}

/** The funded account of a local world, whose key everybody knows. */
export async function burner({ burnerKey, rpcUrl }: Settings): Promise<Account | null> {
  if (burnerKey === null) return null;
  // Loaded only in a local world: curves are large.
  const { privateKeyToAccount } = await import("viem/accounts");
  const account = privateKeyToAccount(burnerKey);
  const client = walletClientOf(account, http(rpcUrl));
  return { wallet: BURNER, name: "Burner account", address: account.address, client, browser: null };
}

/** @param shown what the wallet answers, which may be anything */
function accountOf(wallet: BrowserWallet, settings: Settings, shown: unknown): Account | null {
  const [first]: readonly unknown[] = Array.isArray(shown) ? shown : [];
  if (typeof first !== "string" || !isAddress(first, { strict: false })) return null;
  const { info } = wallet;
  const provider: Provider = wallet.provider;
  const address = getAddress(first);
  return {
    wallet: info.rdns,
    name: info.name,
    address,
    client: walletClientOf(address, custom(provider)),
    browser: {
      switchChain: () => switchTo(provider, settings),
      follow: ({ onAccount, onChain }) => {
        const onAccounts = (accounts: unknown): void => onAccount(accountOf(wallet, settings, accounts));
        const each = (method: "on" | "removeListener"): void => {
          try {
            provider[method]?.("accountsChanged", onAccounts);
            provider[method]?.("chainChanged", onChain);
          } catch {
            // It signs and pays all the same.
          }
        };
        each("on");
        return () => each("removeListener");
      },
    },
  };
}

async function switchTo(provider: Provider, { chainId, rpcUrl }: Settings): Promise<void> {
  const id = toHex(chainId);
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
  const chain = { chainId: id, chainName: `Chain ${chainId}`, rpcUrls: [rpcUrl], nativeCurrency };
  await provider
    .request({ method: "wallet_switchEthereumChain", params: [{ chainId: id }] })
    .catch((error: unknown) => {
      if (!isUnknownChain(error)) throw error;
      return provider.request({ method: "wallet_addEthereumChain", params: [chain] });
    })
    .catch((error: unknown) => {
      throw walletFailed("Switch the wallet's chain", error, true);
    });
}

/** True for the code of EIP-3326, which the app of MetaMask wraps in an error of its own. */
function isUnknownChain(error: unknown): boolean {
  const { code, data } = (error ?? {}) as { readonly code?: unknown; readonly data?: Wrapped | null };
  return code === UNKNOWN_CHAIN || data?.originalError?.code === UNKNOWN_CHAIN;
}

interface Wrapped {
  readonly originalError?: { readonly code?: unknown } | null;
}
