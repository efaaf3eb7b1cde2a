import {
  AbiDecodingDataSizeTooSmallError,
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  InvalidAddressError,
  type PublicClient,
} from "viem";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import type { Client, Connection } from "../../agents/adapters/chain/connection.ts";
import { lower } from "../../agents/adapters/chain/decode.ts";
import { toChainError } from "../../agents/adapters/chain/errors.ts";
import { ConclaveError as CoreError } from "../../agents/core/errors.ts";

/** Where the contracts are, as `npm run deploy` writes it. */
export interface ConclaveDeployment {
  readonly chainId: number;
  readonly oracle: `0x${string}`;
  readonly registry: `0x${string}`;
  /** Block of the deployment, where scans begin; 0 works everywhere and is slow on a long chain. */
  readonly deploymentBlock?: bigint | number;
}

/** What the adapters of the chain need, over a client of viem. The client's chain and the addresses are checked once, before the first call. */
export function connectionOf(publicClient: PublicClient, deployment: ConclaveDeployment): Connection {
  const { chainId, oracle, registry, deploymentBlock = 0 } = deployment;
  const client = publicClient as Client;
  let checked: Promise<void> | null = null;

  const requireChain = async (): Promise<void> => {
    const found = await client.getChainId();
    if (found === chainId) return;
    throw new CoreError(
      "CHAIN_WRONG_ID",
      `Connect: the publicClient serves chain ${found}, but the deployment is on chain ${chainId}; give a client of that chain`,
      { field: "publicClient", expected: chainId, found },
    );
  };
  const requireContracts = async (): Promise<void> => {
    const question = { address: oracle, abi: decisionOracleAbi, functionName: "registry" } as const;
    const found = await client.readContract(question).catch((error: unknown) => {
      if (!isAnotherContract(error)) throw error;
      throw new CoreError(
        "CHAIN_NO_CONTRACT",
        `Find the oracle: chain ${chainId} has no oracle of Conclave at ${oracle}; correct the address`,
        { field: "oracle", address: oracle, chainId },
      );
    });
    if (lower(found) === lower(registry)) return;
    throw new CoreError(
      "CHAIN_NO_CONTRACT",
      `Find the registry: the oracle's is at ${found}, not at ${registry}; correct the address`,
      { field: "registry", address: registry, expected: found, chainId },
    );
  };
  const requireAll = async (): Promise<void> => {
    const contracts = requireContracts();
    // Another chain is the cause of what is wrong with the contracts, too.
    contracts.catch(() => undefined);
    await requireChain();
    await contracts;
  };
  const check = (): Promise<void> => {
    checked ??= requireAll().catch((error: unknown) => {
      checked = null;
      throw error;
    });
    return checked;
  };
  const call: Connection["call"] = async (doing, signal, action) => {
    signal?.throwIfAborted();
    try {
      return await untilAborted(
        check().then(() => action(client)),
        signal,
      );
    } catch (error) {
      signal?.throwIfAborted();
      if (isCausedBy(error, ContractFunctionZeroDataError))
        throw new CoreError(
          "CHAIN_NO_CONTRACT",
          `${doing}: there is no contract of Conclave at the address; correct the deployment`,
          { field: "deployment" },
        );
      // viem refuses it before it asks the node.
      throw isCausedBy(error, InvalidAddressError) ? error : toChainError(error, doing, null);
    }
  };
  return {
    domain: { chainId, oracle: lower(oracle) },
    registry: lower(registry),
    deploymentBlock: BigInt(deploymentBlock),
    chain: client.chain,
    call,
    together: (request, signal) => call("Read a transaction", signal, (one) => one.request(request)),
    check: (signal) => call("Read the chain id", signal, async () => undefined),
  };
}

/** True if the address has no contract, or one that answers otherwise than Conclave's. */
function isAnotherContract(error: unknown): boolean {
  const kinds = [ContractFunctionZeroDataError, ContractFunctionRevertedError, AbiDecodingDataSizeTooSmallError];
  return kinds.some((kind) => isCausedBy(error, kind));
}

function isCausedBy(error: unknown, kind: new (...args: never[]) => Error): boolean {
  return error instanceof BaseError && error.walk((cause) => cause instanceof kind) !== null;
}

/** viem's actions take no signal: whoever waits leaves, and the answer is dropped. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const leave = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", leave, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  return promise;
}
