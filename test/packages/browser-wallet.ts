// A wallet in a browser, as EIP-1193 has it, for tests.
import { createWalletClient, custom, type Hex, type PublicClient, type WalletClient } from "viem";

export type Call = { readonly method: string; readonly params?: unknown };

/** A wallet whose account the node holds; `answer` may do what users and wallets do. */
export function browserWallet(
  publicClient: PublicClient,
  account: Hex,
  answer: (call: Call, pass: (call: Call) => Promise<unknown>) => Promise<unknown>,
): WalletClient {
  const pass = (call: Call): Promise<unknown> => publicClient.request(call as Parameters<PublicClient["request"]>[0]);
  const request = (call: Call): Promise<unknown> => answer(call, pass);
  return createWalletClient({ account, transport: custom({ request }, { retryCount: 0 }) });
}
