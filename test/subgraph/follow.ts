// A chain with an economy, graph-node beside it, and the comparison of one with the other.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { checkEntities } from "../../devnet/subgraph/check.ts";
import { startEconomyChain, type EconomyChain } from "../../lab/subgraph/economy-chain.ts";
import { LEAST_OPERATORS } from "../../lab/scenario/economy.ts";
import { readEntities, type Entities } from "../../devnet/subgraph/entities.ts";
import { startGraphNode, type GraphNode } from "../../devnet/subgraph/graph-node.ts";
import type { Deployed } from "../../scripts/subgraph/manifest.ts";

export async function startChain(context: TestContext): Promise<EconomyChain> {
  const economy = await startEconomyChain("anvil", LEAST_OPERATORS, context.signal);
  context.after(() => economy.chain.stop());
  return economy;
}

export async function startNode(context: TestContext, { chain }: EconomyChain, deployed: Deployed): Promise<GraphNode> {
  const node = await startGraphNode(chain.rpcUrl, deployed, context.signal);
  context.after(() => node.stop());
  return node;
}

/** Fails if anything in the subgraph differs from the chain at this block. */
export async function check(
  context: TestContext,
  node: GraphNode,
  { client }: EconomyChain,
  deployed: Deployed,
  block: number,
): Promise<Entities> {
  await node.synced(block, { signal: context.signal });
  const entities = await readEntities(node.queryUrl, block);
  const { differences } = await checkEntities(entities, client, deployed, block);
  assert.deepEqual(differences, []);
  return entities;
}

export async function headOf({ client }: EconomyChain): Promise<number> {
  return Number(await client.getBlockNumber({ cacheTime: 0 }));
}
