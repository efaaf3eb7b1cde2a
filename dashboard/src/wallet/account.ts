import { custom, getAddress, http, toHex, type WalletClient } from "viem";
import { walletClientOf } from "../clients.ts";
import type { Settings } from "../settings/settings.ts";
import type { BrowserWallet } from "./providers.ts";

/** An account that signs and pays. */
export interface Account {
  /** Name of the wallet; a stranger's text. */
  readonly name: string;
  readonly address: `0x${string}`;
  readonly client: WalletClient;
  /** Asks the wallet to go to the chain of the deployment; null where there is no other chain. */
  readonly switchChain: (() => Promise<void>) | null;
}

type Provider = BrowserWallet["provider"];

/** EIP-3326: the wallet does not know the chain. */
const UNKNOWN_CHAIN = 4902;

/** Asks the wallet for an account. Rejects with the wallet's error if the user says no. */
export async function connect({ info, provider }: BrowserWallet, settings: Settings): Promise<Account> {
  const accounts = await provider.request({ method: "eth_requestAccounts" });
  const [first] = accounts;
  if (first === undefined) throw new Error("The wallet shows no account; unlock it and choose one.");
  const address = getAddress(first);
  const client = walletClientOf(address, custom(provider));
  return { name: info.name, address, client, switchChain: () => switchTo(provider, settings) };
}

/** The funded account of a local world, whose key everybody knows. */
export async function burner({ burnerKey, rpcUrl }: Settings): Promise<Account | null> {
  if (burnerKey === null) return null;
  // Loaded only in a local world: curves are large.
  const { privateKeyToAccount } = await import("viem/accounts");
  const account = privateKeyToAccount(burnerKey);
  const client = walletClientOf(account, http(rpcUrl));
  return { name: "Burner account", address: account.address, client, switchChain: null };
}

async function switchTo(provider: Provider, { chainId, rpcUrl }: Settings): Promise<void> {
  const id = toHex(chainId);
  try {
    await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId: id }] });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === UNKNOWN_CHAIN)) throw error;
    const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
    const chain = { chainId: id, chainName: `Chain ${chainId}`, rpcUrls: [rpcUrl], nativeCurrency };
    await provider.request({ method: "wallet_addEthereumChain", params: [chain] });
  }
}
