// The scenario's economy on a chain that graph-node can follow.
import { setTimeout as sleep } from "node:timers/promises";
import { createPublicClient, http, type Hex, type PublicClient } from "viem";
import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import { loadArtifacts } from "../../agents/adapters/artifacts/artifacts.ts";
import { startLocalChain, type LocalChain } from "../../devnet/local-chain.ts";
import { accountsFor } from "../scenario/economy.ts";
import type { World } from "../../test/support/contracts/world.ts";
import type { Deployed } from "../../scripts/subgraph/manifest.ts";

export interface EconomyChain {
  readonly chain: LocalChain;
  readonly ethers: HardhatEthers;
  readonly client: PublicClient;
}

/**
 * Starts the chain; each transaction is a block. Anvil can drop blocks. On Hardhat's chain the empty blocks that a
 * draw waits for cost nothing, which a long scenario needs. After an abort, whatever asks the chain fails.
 */
export async function startEconomyChain(
  engine: LocalChain["engine"],
  operators: number,
  signal: AbortSignal,
): Promise<EconomyChain> {
  // Hardhat's ethers deploys the last build, however old it is.
  await loadArtifacts(["contracts/DecisionOracle.sol:DecisionOracle"], "default", signal);
  const chain = await startLocalChain({ engine, accounts: accountsFor(operators) });
  const { config, network } = await import("hardhat");
  // Connects by a network of the configuration; the plugin adds ethers to the connection. The gas limit is that of the
  // default network, for the same reason.
  const override = { url: chain.rpcUrl, gas: config.networks["default"]!.gas };
  const connection: object = await network.create({ network: "custom", override });
  const { ethers } = connection as { readonly ethers: HardhatEthers };
  waitForReceipts(ethers, signal);
  return {
    chain,
    ethers,
    client: createPublicClient({ transport: http(chain.rpcUrl, { batch: true, fetchOptions: { signal } }) }),
  };
}

/**
 * Waits for receipts: anvil answers before it has mined, while the scenario relies on Hardhat's chain, which answers
 * after. Sends nothing after an abort.
 */
function waitForReceipts({ provider }: HardhatEthers, signal: AbortSignal): void {
  const send = provider.send.bind(provider);
  provider.send = async (method, params) => {
    signal.throwIfAborted();
    const result: unknown = await send(method, params);
    if (method === "eth_sendTransaction")
      while ((await send("eth_getTransactionReceipt", [result])) === null) await sleep(1);
    return result;
  };
}

export function deployedIn(world: World): Deployed {
  const lower = (address: string): Hex => address.toLowerCase() as Hex;
  return {
    registry: lower(world.registry.target),
    oracle: lower(world.oracle.target),
    settlement: lower(world.settlement.target),
    slasher: lower(world.slasher.target),
    deploymentBlock: 0,
  };
}
