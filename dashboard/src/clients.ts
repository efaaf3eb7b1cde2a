import { createClient, http, type Account, type Client, type PublicClient, type Transport, type WalletClient } from "viem";
import {
  call,
  estimateFeesPerGas,
  estimateGas,
  getBalance,
  getBlock,
  getBlockNumber,
  getChainId,
  getCode,
  getGasPrice,
  getTransaction,
  getTransactionCount,
  getTransactionReceipt,
  readContract,
  sendTransaction,
  signTypedData,
  waitForTransactionReceipt,
} from "viem/actions";
import { isLocalChain, type Settings } from "./settings/settings.ts";

/**
 * Clients with the actions that the SDK uses and no others: viem's own clients bring all actions, and with them a third of the page's
 * first view.
 */

/** Time between two looks at the chain. */
const POLL_MS = 4_000;
const LOCAL_POLL_MS = 500;

const READING = {
  call,
  estimateFeesPerGas,
  estimateGas,
  getBalance,
  getBlock,
  getBlockNumber,
  getChainId,
  getCode,
  getGasPrice,
  getTransaction,
  getTransactionCount,
  getTransactionReceipt,
  readContract,
  waitForTransactionReceipt,
};
const SIGNING = { getChainId, sendTransaction, signTypedData };

export function publicClientOf({ rpcUrl, chainId }: Settings): PublicClient {
  const isLocal = isLocalChain(chainId);
  const client = createClient({
    transport: http(rpcUrl, { retryCount: 1 }),
    pollingInterval: isLocal ? LOCAL_POLL_MS : POLL_MS,
    ...(isLocal && { cacheTime: 0 }),
  });
  return client.extend((own) => bound(own, READING)) as unknown as PublicClient;
}

export function walletClientOf(account: Account | `0x${string}`, transport: Transport): WalletClient {
  return createClient({ account, transport }).extend((own) => bound(own, SIGNING)) as unknown as WalletClient;
}

type Action = (client: never, ...args: never[]) => unknown;

/** Makes methods of actions. */
function bound(client: Client, actions: Readonly<Record<string, Action>>): Record<string, (...args: never[]) => unknown> {
  const bind = (action: Action) => (...args: never[]) => action(client as never, ...args);
  return Object.fromEntries(Object.entries(actions).map(([name, action]) => [name, bind(action)]));
}
