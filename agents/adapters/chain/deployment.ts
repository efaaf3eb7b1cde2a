// What `conclave doctor` looks at on the chain: code, bindings and roles of a deployment.
import { createPublicClient, erc20Abi, http, toFunctionSelector, type Hex, type PublicClient } from "viem";
import { accessManagerAbi, agentRegistryAbi, decisionOracleAbi, slasherAbi } from "conclave/abi";
import type { Address } from "../../core/types.ts";
import { lower } from "./decode.ts";
import { toChainError } from "./errors.ts";

export interface Contracts {
  readonly registry: Address;
  readonly oracle: Address;
  readonly slasher: Address;
  readonly accessManager: Address;
}

/** What each contract says of the others. */
export interface Bindings {
  readonly oracleOfRegistry: Address;
  readonly registryOfOracle: Address;
  readonly registryOfSlasher: Address;
  readonly oracleOfSlasher: Address;
}

export interface Holder {
  readonly account: Address;
  /** Between scheduling an operation and executing it. */
  readonly delaySeconds: number;
  readonly isContract: boolean;
}

export interface Roles {
  /** Who may stop new requests. */
  readonly pausers: readonly Holder[];
  /** Who may grant roles. */
  readonly administrators: readonly Holder[];
  /** No call of the oracle that needs a role is accepted. */
  readonly closed: boolean;
}

export interface DeploymentReader {
  /** The slasher and the access manager are those that the registry and the oracle name. */
  contracts(registry: Address, oracle: Address): Promise<Contracts>;
  bindings(contracts: Contracts): Promise<Bindings>;
  roles(contracts: Contracts, fromBlock: bigint): Promise<Roles>;
  /** Runtime code; "0x" where there is none. */
  code(address: Address): Promise<Hex>;
  /** Null where the token does not say. */
  decimals(token: Address): Promise<number | null>;
  tokens(contracts: Contracts): Promise<{ readonly stake: Address; readonly fee: Address }>;
  gasPrice(): Promise<bigint>;
}

const ADMIN_ROLE = 0n;
const PAUSE = toFunctionSelector("pauseRequests()");

/** Every method throws CHAIN_UNREACHABLE, or CHAIN_REVERTED when a contract is another one. */
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
        slasher: lower(
          await client.readContract({ address: registry, abi: agentRegistryAbi, functionName: "slasher" }),
        ),
        accessManager: lower(
          await client.readContract({ address: oracle, abi: decisionOracleAbi, functionName: "authority" }),
        ),
      })),
    bindings: ({ registry, oracle, slasher }) =>
      ask("Read what the contracts are bound to", async () => ({
        oracleOfRegistry: lower(
          await client.readContract({ address: registry, abi: agentRegistryAbi, functionName: "oracle" }),
        ),
        registryOfOracle: lower(
          await client.readContract({ address: oracle, abi: decisionOracleAbi, functionName: "registry" }),
        ),
        registryOfSlasher: lower(
          await client.readContract({ address: slasher, abi: slasherAbi, functionName: "registry" }),
        ),
        oracleOfSlasher: lower(
          await client.readContract({ address: slasher, abi: slasherAbi, functionName: "oracle" }),
        ),
      })),
    roles: ({ oracle, accessManager }, fromBlock) =>
      ask("Read the roles", async () => {
        const manager = { address: accessManager, abi: accessManagerAbi } as const;
        const pausing = await client.readContract({
          ...manager,
          functionName: "getTargetFunctionRole",
          args: [oracle, PAUSE],
        });
        return {
          pausers: await holdersOf(client, accessManager, pausing, fromBlock),
          administrators: await holdersOf(client, accessManager, ADMIN_ROLE, fromBlock),
          closed: await client.readContract({ ...manager, functionName: "isTargetClosed", args: [oracle] }),
        };
      }),
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
    tokens: ({ registry, oracle }) =>
      ask("Read the tokens", async () => ({
        stake: lower(
          await client.readContract({ address: registry, abi: agentRegistryAbi, functionName: "stakeToken" }),
        ),
        fee: lower(await client.readContract({ address: oracle, abi: decisionOracleAbi, functionName: "feeToken" })),
      })),
    gasPrice: () => ask("Read the gas price", () => client.getGasPrice()),
  };
}

/** Those whom the role was granted to since that block and who still have it. */
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
