// What `conclave doctor` checks on the chain: code, bindings, roles and prices of a deployment.
import { createPublicClient, erc20Abi, getAbiItem, http, toFunctionSelector, type Hex, type PublicClient } from "viem";
import {
  accessManagerAbi,
  agentRegistryAbi,
  decisionOracleAbi,
  settlementAbi,
  slasherAbi,
} from "@conclave/contracts/abi";
import type { Address, Currency } from "../../core/types.ts";
import { examineBeacon } from "./beacon.ts";
import { lower } from "./decode.ts";
import { currencyCode } from "./encode.ts";
import { toChainError } from "./errors.ts";
import { unpackPrices, type PriceList } from "./prices.ts";

export interface Contracts {
  readonly registry: Address;
  readonly oracle: Address;
  /** The settlement contract, which the oracle deployed. */
  readonly settlement: Address;
  readonly slasher: Address;
  readonly accessManager: Address;
}

/** What each contract says about the others. */
export interface Bindings {
  readonly oracleOfRegistry: Address;
  readonly registryOfOracle: Address;
  readonly oracleOfSettlement: Address;
  readonly registryOfSlasher: Address;
  readonly oracleOfSlasher: Address;
}

export interface Holder {
  readonly account: Address;
  /** Seconds between scheduling an operation and executing it. */
  readonly delaySeconds: number;
  readonly isContract: boolean;
}

/** Who may call a function that needs a role. */
export interface Permission {
  /** True if no role is needed any more. */
  readonly everybody: boolean;
  readonly holders: readonly Holder[];
}

export interface Roles {
  /** Who may stop new requests. */
  readonly pausing: Permission;
  /** Who may allow new requests again. */
  readonly unpausing: Permission;
  /** Who may set the prices of later requests. */
  readonly pricing: Permission;
  /** Who may grant roles. */
  readonly administrators: readonly Holder[];
  /** True if the oracle accepts no call that needs a role. */
  readonly closed: boolean;
}

export interface DeploymentReader {
  /** Returns the contracts: settlement, slasher and access manager are those that the oracle and the registry name. */
  contracts(registry: Address, oracle: Address): Promise<Contracts>;
  bindings(contracts: Contracts): Promise<Bindings>;
  roles(contracts: Contracts, fromBlock: bigint): Promise<Roles>;
  /** Returns the runtime code; "0x" if there is no contract. */
  code(address: Address): Promise<Hex>;
  /** Returns the token's decimals; null if it does not say. */
  decimals(token: Address): Promise<number | null>;
  /** Returns the price list in force. */
  prices(contracts: Contracts, currency: Currency): Promise<PriceList>;
  tokens(contracts: Contracts): Promise<{ readonly stake: Address; readonly fee: Address }>;
  /** Returns the price that the node names, and the tip of that, both in wei per gas. */
  gasPrice(): Promise<{ readonly price: bigint; readonly tip: bigint }>;
  /** Says why committees cannot be drawn on this chain; null if nothing is wrong with its randomness. */
  beacon(chainId: number): Promise<string | null>;
  /** Returns the number of the latest block. */
  head(): Promise<bigint>;
}

const ADMIN_ROLE = 0n;
const PUBLIC_ROLE = 2n ** 64n - 1n;

type GovernanceCall = "pauseRequests" | "unpauseRequests" | "setPrices";

/** Selectors come from the ABI, so that they are those of the oracle's functions. */
const selectorOf = (name: GovernanceCall): Hex => toFunctionSelector(getAbiItem({ abi: decisionOracleAbi, name }));

/** Creates a reader. Every method throws CHAIN_UNREACHABLE, or CHAIN_REVERTED if the address holds another contract. */
export function createDeploymentReader(rpcUrl: string, signal: AbortSignal): DeploymentReader {
  const fetchFn: typeof fetch = (input, init) => fetch(input, { ...init, signal });
  const client = createPublicClient({ transport: http(rpcUrl, { fetchFn, retryCount: 1 }) });
  const ask = async <T>(doing: string, action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (error) {
      signal.throwIfAborted();
      throw toChainError(error, doing, rpcUrl);
    }
  };
  return {
    contracts: (registry, oracle) =>
      ask("Find the contracts", async () => ({
        registry,
        oracle,
        settlement: lower(
          await client.readContract({ address: oracle, abi: decisionOracleAbi, functionName: "settlement" }),
        ),
        slasher: lower(
          await client.readContract({ address: registry, abi: agentRegistryAbi, functionName: "slasher" }),
        ),
        accessManager: lower(
          await client.readContract({ address: oracle, abi: decisionOracleAbi, functionName: "authority" }),
        ),
      })),
    bindings: (contracts) => ask("Read what the contracts are bound to", () => readBindings(client, contracts)),
    roles: (contracts, fromBlock) => ask("Read the roles", () => readRoles(client, contracts, fromBlock)),
    code: (address) => ask("Read the code", async () => (await client.getCode({ address })) ?? "0x"),
    decimals: (token) =>
      ask("Read the token", () =>
        client
          .readContract({
            address: token,
            abi: erc20Abi,
            functionName: "decimals",
          })
          .catch((error: unknown) => {
            if (error instanceof Error && error.name === "ContractFunctionExecutionError") return null;
            throw error;
          }),
      ),
    prices: ({ oracle }, currency) =>
      ask("Read the prices", async () => {
        const query = { address: oracle, abi: decisionOracleAbi, functionName: "pricesOf" } as const;
        return unpackPrices(await client.readContract({ ...query, args: [currencyCode(currency)] }));
      }),
    tokens: ({ registry, oracle }) =>
      ask("Read the tokens", async () => ({
        stake: lower(
          await client.readContract({ address: registry, abi: agentRegistryAbi, functionName: "stakeToken" }),
        ),
        fee: lower(await client.readContract({ address: oracle, abi: decisionOracleAbi, functionName: "feeToken" })),
      })),
    gasPrice: () =>
      ask("Read the gas price", async () => {
        const [price, tip] = await Promise.all([client.getGasPrice(), client.estimateMaxPriorityFeePerGas()]);
        return { price, tip };
      }),
    beacon: (chainId) => ask("Read the randomness of blocks", () => examineBeacon(client, chainId)),
    head: () => ask("Read the latest block", () => client.getBlockNumber()),
  };
}

async function readBindings(
  client: PublicClient,
  { registry, oracle, settlement, slasher }: Contracts,
): Promise<Bindings> {
  const ofRegistry = { address: registry, abi: agentRegistryAbi } as const;
  const ofOracle = { address: oracle, abi: decisionOracleAbi } as const;
  const ofSettlement = { address: settlement, abi: settlementAbi } as const;
  const ofSlasher = { address: slasher, abi: slasherAbi } as const;
  return {
    oracleOfRegistry: lower(await client.readContract({ ...ofRegistry, functionName: "oracle" })),
    registryOfOracle: lower(await client.readContract({ ...ofOracle, functionName: "registry" })),
    oracleOfSettlement: lower(await client.readContract({ ...ofSettlement, functionName: "oracle" })),
    registryOfSlasher: lower(await client.readContract({ ...ofSlasher, functionName: "registry" })),
    oracleOfSlasher: lower(await client.readContract({ ...ofSlasher, functionName: "oracle" })),
  };
}

async function readRoles(
  client: PublicClient,
  { oracle, accessManager }: Contracts,
  fromBlock: bigint,
): Promise<Roles> {
  const manager = { address: accessManager, abi: accessManagerAbi } as const;
  const permission = async (name: GovernanceCall): Promise<Permission> => {
    const query = { ...manager, functionName: "getTargetFunctionRole", args: [oracle, selectorOf(name)] } as const;
    const role = await client.readContract(query);
    if (role === PUBLIC_ROLE) return { everybody: true, holders: [] };
    return { everybody: false, holders: await holdersOf(client, accessManager, role, fromBlock) };
  };
  return {
    pausing: await permission("pauseRequests"),
    unpausing: await permission("unpauseRequests"),
    pricing: await permission("setPrices"),
    administrators: await holdersOf(client, accessManager, ADMIN_ROLE, fromBlock),
    closed: await client.readContract({ ...manager, functionName: "isTargetClosed", args: [oracle] }),
  };
}

/** Returns the accounts that were granted the role since that block and that still have it. */
async function holdersOf(
  client: PublicClient,
  manager: Address,
  roleId: bigint,
  fromBlock: bigint,
): Promise<readonly Holder[]> {
  const contract = { address: manager, abi: accessManagerAbi } as const;
  const granted = { ...contract, eventName: "RoleGranted", args: { roleId }, strict: true, fromBlock } as const;
  const logs = await client.getContractEvents(granted);
  const accounts = [...new Set(logs.map(({ args }) => lower(args.account)))];
  const found = await Promise.all(
    accounts.map(async (account): Promise<readonly Holder[]> => {
      const query = { ...contract, functionName: "hasRole", args: [roleId, account] } as const;
      const [isMember, delaySeconds] = await client.readContract(query);
      if (!isMember) return [];
      return [{ account, delaySeconds, isContract: ((await client.getCode({ address: account })) ?? "0x") !== "0x" }];
    }),
  );
  return found.flat();
}
