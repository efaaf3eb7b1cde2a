import {
  createClient,
  http,
  type Account,
  type Client,
  type PublicClient,
  type Transport,
  type WalletClient,
} from "viem";
import {
  call,
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
} from "viem/actions";
import type * as Sends from "./sending.ts";
import { isLocalChain, type Settings } from "./settings/settings.ts";

/**
 * Clients with the actions that the SDK uses and no others, and those that only send are loaded when they are used: viem's own clients
 * bring all actions, and with them a third of the dashboard's first view.
 */

/** Time between two looks at the chain. */
const POLL_MS = 4_000;
const LOCAL_POLL_MS = 500;

const READING = {
  call,
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
};

type Sending = typeof Sends;

export function publicClientOf({ rpcUrl, chainId }: Settings): PublicClient {
  const isLocal = isLocalChain(chainId);
  const client = createClient({
    transport: http(rpcUrl, { retryCount: 1 }),
    pollingInterval: isLocal ? LOCAL_POLL_MS : POLL_MS,
    ...(isLocal && { cacheTime: 0 }),
  });
  const sending = ["estimateFeesPerGas", "estimateGas", "waitForTransactionReceipt"] as const;
  return client.extend((own) => ({ ...bound(own, READING), ...later(own, sending) })) as unknown as PublicClient;
}

export function walletClientOf(account: Account | `0x${string}`, transport: Transport): WalletClient {
  const client = createClient({ account, transport });
  const signing = ["sendTransaction", "signTypedData"] as const;
  return client.extend((own) => ({ ...bound(own, { getChainId }), ...later(own, signing) })) as unknown as WalletClient;
}

type Action = (client: never, ...args: never[]) => unknown;
type Methods = Record<string, (...args: never[]) => unknown>;

/** Makes methods of actions. */
function bound(client: Client, actions: Readonly<Record<string, Action>>): Methods {
  const bind =
    (action: Action) =>
    (...args: never[]) =>
      action(client as never, ...args);
  return Object.fromEntries(Object.entries(actions).map(([name, action]) => [name, bind(action)]));
}

/** Makes methods that load their action at the first call. */
function later(client: Client, names: readonly (keyof Sending)[]): Methods {
  const bind =
    (name: keyof Sending) =>
    async (...args: never[]) => {
      const sending: Readonly<Record<string, Action>> = await import("./sending.ts");
      return sending[name]?.(client as never, ...args);
    };
  return Object.fromEntries(names.map((name) => [name, bind(name)]));
}
