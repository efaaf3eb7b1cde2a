import {
  createPublicClient,
  defineChain,
  hexToBigInt,
  http,
  type Chain,
  type Hex,
  type HttpTransport,
  type PublicClient,
  type RpcTransaction,
} from "viem";
import { ConclaveError } from "../../core/errors.ts";
import type { Address, Domain } from "../../core/types.ts";
import { originOf, toChainError } from "./errors.ts";

export interface ChainOptions {
  /** URL of the HTTP JSON-RPC; only its origin is logged. */
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly oracle: Address;
  readonly registry: Address;
  /** Block of the deployment, where scans begin; 0 works everywhere and is slow on a long chain. */
  readonly deploymentBlock?: bigint;
  /** Timeout of one RPC call. */
  readonly requestTimeoutMs?: number;
  /** Most wei per gas that a transaction pays. */
  readonly maxFeePerGas?: bigint;
  /** Most wei per gas of that as a tip. */
  readonly maxPriorityFeePerGas?: bigint;
}

export type Client = PublicClient<HttpTransport, Chain>;

export interface Connection {
  readonly domain: Domain;
  readonly registry: Address;
  readonly deploymentBlock: bigint;
  readonly chain: Chain;
  /** Runs RPC calls that end with the signal; failures become ConclaveErrors. `doing` begins with a verb. */
  call<T>(
    doing: string,
    signal: AbortSignal | undefined,
    action: (client: Client) => Promise<T>,
    retries?: number,
  ): Promise<T>;
  /**
   * Sends the calls that come in one turn of the event loop with one signal as one HTTP request, since a request costs
   * far more than a call. Null if there is no result, for any reason: nodes may refuse batches, so ask again alone.
   */
  readonly together: (request: TransactionRequest, signal: AbortSignal | undefined) => Promise<RpcTransaction | null>;
  /** Checks the chain id and the contracts. Throws CHAIN_UNREACHABLE, CHAIN_WRONG_ID or CHAIN_NO_CONTRACT. */
  check(signal?: AbortSignal): Promise<void>;
}

type TransactionRequest = { readonly method: "eth_getTransactionByHash"; readonly params: [hash: Hex] };

/** Calls of one HTTP request; public nodes take at least as many. */
const BATCH_CALLS = 50;
const DEFAULT_TIMEOUT_MS = 15_000;
const DEFAULT_RETRIES = 2;

/** Connects and checks the chain id and that both contracts exist. */
export async function connect(options: ChainOptions, signal?: AbortSignal): Promise<Connection> {
  const connection = createConnection(options);
  await connection.check(signal);
  return connection;
}

function createConnection(options: ChainOptions): Connection {
  const { rpcUrl, chainId, oracle, registry } = options;
  const chain = defineChain({
    id: chainId,
    name: `chain ${chainId}`,
    nativeCurrency: { name: "coin", symbol: "coin", decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  });

  const call: Connection["call"] = async (doing, signal, action, retries = DEFAULT_RETRIES) => {
    signal?.throwIfAborted();
    try {
      return await action(createClient(options, chain, retries, signal));
    } catch (error) {
      signal?.throwIfAborted();
      throw toChainError(error, doing, rpcUrl);
    }
  };

  const batched = http(rpcUrl, { batch: { batchSize: BATCH_CALLS }, timeout: timeoutOf(options) });
  const batching = createPublicClient({ chain, transport: batched });
  const together: Connection["together"] = async (request, signal) => {
    const found = batching.request(request, { retryCount: 0, ...(signal && { signal }) });
    const transaction = await found.catch(() => null);
    signal?.throwIfAborted();
    return transaction;
  };

  const check = async (signal?: AbortSignal): Promise<void> => {
    const found = await call("Read the chain id", signal, (client) => client.getChainId());
    if (found !== chainId) {
      throw new ConclaveError(
        "CHAIN_WRONG_ID",
        `Connect to ${originOf(rpcUrl)}: it serves chain ${found}, but chain ${chainId} is configured; correct one of them`,
        { expected: chainId, found },
      );
    }
    for (const [name, address] of Object.entries({ oracle, registry })) {
      const code = await call(`Read the code of the ${name}`, signal, (client) => client.getCode({ address }));
      if (code !== undefined && code !== "0x") continue;
      throw new ConclaveError(
        "CHAIN_NO_CONTRACT",
        `Find the ${name}: chain ${chainId} has no contract at ${address}; check the address or deploy first`,
        { contract: name, address, chainId },
      );
    }
  };

  const deploymentBlock = options.deploymentBlock ?? 0n;
  return { domain: { chainId, oracle }, registry, deploymentBlock, chain, call, together, check };
}

function createClient(
  options: ChainOptions,
  chain: Chain,
  retryCount: number,
  signal: AbortSignal | undefined,
): Client {
  const fetchFn: typeof fetch = (input, init) => {
    const signals = [init?.signal, signal].filter((one) => one !== undefined && one !== null);
    return fetch(input, { ...init, signal: AbortSignal.any(signals) });
  };
  const transport = http(options.rpcUrl, {
    fetchFn,
    retryCount,
    timeout: timeoutOf(options),
  });
  return createPublicClient({ chain, transport, cacheTime: 0 }).extend((client) => ({
    // viem remembers the number of every client for ever, and each call has a client of its own.
    getBlockNumber: async () => hexToBigInt(await client.request({ method: "eth_blockNumber" })),
  }));
}

function timeoutOf({ requestTimeoutMs }: ChainOptions): number {
  return requestTimeoutMs ?? DEFAULT_TIMEOUT_MS;
}
