// Blocks that graph-node has indexed are dropped.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandom } from "../../sim/random.ts";
import { LEAST_OPERATORS, openEconomy } from "../../lab/scenario/economy.ts";
import { play } from "../../lab/scenario/play.ts";
import { deployedIn } from "../../lab/subgraph/economy-chain.ts";
import { check, headOf, startChain, startNode } from "./follow.ts";

/**
 * Numbers of blocks to drop: the last one, which settles a request, or the last ones with a whole committee. No more,
 * because anvil forgets dropped blocks, and graph-node asks for blocks that it has not kept itself.
 */
const DEPTHS = [1, 6];

test("the entities equal those of a clean sync after a reorganization", async (context) => {
  const random = createRandom(2, "subgraph");
  const chain = await startChain(context);
  const economy = await openEconomy(chain.ethers, LEAST_OPERATORS, random.fork("economy"));
  const deployed = deployedIn(economy.world);
  const node = await startNode(context, chain, deployed);
  for (const depth of DEPTHS) {
    await play(economy, random);
    const dropped = await check(context, node, chain, deployed, await headOf(chain));
    await chain.ethers.provider.send("anvil_reorg", [depth, []]);
    await play(economy, random);
    const followed = await check(context, node, chain, deployed, await headOf(chain));
    assert.ok(dropped["Pay"]!.size > 0);
    assert.notDeepEqual(followed["Pay"], dropped["Pay"]);
  }
  const last = await headOf(chain);
  const followed = await check(context, node, chain, deployed, last);
  const clean = await startNode(context, chain, deployed);
  assert.deepEqual(followed, await check(context, clean, chain, deployed, last));
});
