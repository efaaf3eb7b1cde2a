import { createPublicClient, createWalletClient, defineChain, http } from "viem";
import type { Chain, HttpTransport, LocalAccount, PublicClient, WalletClient } from "viem";

export interface Clients {
  readonly reader: PublicClient<HttpTransport, Chain>;
  readonly wallet: WalletClient<HttpTransport, Chain, LocalAccount>;
}

/** Reads from and writes to a local chain as one account. */
export function clientsOf(rpcUrl: string, chainId: number, account: LocalAccount): Clients {
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
  const chain = defineChain({ id: chainId, name: "local", nativeCurrency, rpcUrls: { default: { http: [rpcUrl] } } });
  const transport = http(rpcUrl);
  const reader = createPublicClient({ chain, transport, pollingInterval: 100 });
  return { reader, wallet: createWalletClient({ chain, transport, account }) };
}
