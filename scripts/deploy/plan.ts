// What a deployment will do, step by step, read from its Ignition modules: the addresses follow from the deployer's nonce.
import {
  FutureType,
  batches,
  isAccountRuntimeValue,
  isFuture,
  isModuleParameterRuntimeValue,
  type Future,
  type IgnitionModule,
  type IgnitionModuleResult,
  type ModuleParameters,
} from "@nomicfoundation/ignition-core";
import { getContractAddress } from "viem";
import type { Address } from "../../agents/core/types.ts";

export type Module = IgnitionModule<string, string, IgnitionModuleResult<string>>;

export interface Part {
  readonly module: Module;
  readonly parameters: ModuleParameters;
}

/** One transaction. */
export interface Step {
  readonly action: "create" | "call";
  readonly contract: string;
  readonly address: Address;
  /** Name of the called function. */
  readonly functionName?: string;
  readonly args: readonly unknown[];
}

/**
 * Returns the address of each contract by name, if the module's first transaction has this nonce, and the nonce after
 * its last.
 */
export function placeOf(
  module: Module,
  from: Address,
  nonce: number,
): { readonly addresses: ReadonlyMap<string, Address>; readonly nextNonce: number } {
  const sent = transactionsOf(module);
  const created = sent.flatMap((future, offset): readonly (readonly [string, Address])[] =>
    future.type === FutureType.NAMED_ARTIFACT_CONTRACT_DEPLOYMENT
      ? [[future.contractName, createdAt(from, nonce + offset)]]
      : [],
  );
  return { addresses: new Map(created), nextNonce: nonce + sent.length };
}

/** Returns the steps of a module with every argument. */
export function stepsOf({ module, parameters }: Part, from: Address, nonce: number): readonly Step[] {
  const { addresses } = placeOf(module, from, nonce);
  const addressOf = (future: Future): unknown => {
    if (future.type === FutureType.NAMED_ARTIFACT_CONTRACT_AT) return resolve(future.address);
    return "contractName" in future ? addresses.get(future.contractName) : fail(future);
  };
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== "object" || value === null) return value;
    if (isFuture(value)) return addressOf(value);
    if (isModuleParameterRuntimeValue(value)) return parameters[value.name];
    if (isAccountRuntimeValue(value)) return from;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, resolve(field)]));
  };
  return transactionsOf(module).map((future): Step => {
    const { contractName: contract } = future.type === FutureType.CONTRACT_CALL ? future.contract : future;
    const address = addressOf(future.type === FutureType.CONTRACT_CALL ? future.contract : future) as Address;
    return future.type === FutureType.CONTRACT_CALL
      ? { action: "call", contract, address, functionName: future.functionName, args: future.args.map(resolve) }
      : { action: "create", contract, address, args: future.constructorArgs.map(resolve) };
  });
}

/** Returns the transactions as Ignition sends them: batch by batch, by id within a batch. */
function transactionsOf(module: Module) {
  const futures = new Map([...module.futures].map((future) => [future.id, future]));
  const order = batches(module).flatMap((batch) => batch.toSorted((a, b) => (a < b ? -1 : 1)));
  return order.flatMap((id) => {
    const future = futures.get(id);
    if (future?.type === FutureType.NAMED_ARTIFACT_CONTRACT_AT) return [];
    return future?.type === FutureType.NAMED_ARTIFACT_CONTRACT_DEPLOYMENT || future?.type === FutureType.CONTRACT_CALL
      ? [future]
      : fail(future);
  });
}

function createdAt(from: Address, nonce: number): Address {
  return getContractAddress({ from, nonce: BigInt(nonce) }).toLowerCase() as Address;
}

function fail(future: Future | undefined): never {
  throw new Error(`Plan the deployment: ${future?.id ?? "a future"} is of a kind that no module of ours has`);
}
