// The mappings on the real graph-node: a scripted economy on anvil, then every entity compared with the contracts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandom } from "../../agents/sim/random.ts";
import { openEconomy } from "../../scripts/lib/scenario/economy.ts";
import { live } from "../../scripts/lib/scenario/life.ts";
import { deployedIn } from "../../scripts/lib/subgraph/economy-chain.ts";
import { LIMIT_MS, OPERATORS, check, headOf, startChain, startNode } from "./follow.ts";

const REQUESTS = 24;

test(
  "every entity equals the contracts' state and events, in the end and at earlier blocks",
  { timeout: LIMIT_MS },
  async (context) => {
    const random = createRandom(1, "subgraph");
    const chain = await startChain(context);
    const economy = await openEconomy(chain.ethers, OPERATORS, random.fork("economy"));
    const { fates } = await live(economy, REQUESTS, random.fork("life"), () => {});
    const deployed = deployedIn(economy.world);
    const node = await startNode(context, chain, deployed);
    const last = await headOf(chain);
    const entities = await check(context, node, chain, deployed, last);
    for (const part of [0.7, 0.3]) await check(context, node, chain, deployed, Math.floor(last * part));

    // Nothing is equal because nothing happened.
    assert.ok(Object.keys(fates).length >= 7, JSON.stringify(fates));
    // The scenario's consumers take every answer.
    const empty = Object.entries(entities).filter(([type, { size }]) => size === 0 && type !== "Callback");
    assert.deepEqual(
      empty.map(([type]) => type),
      [],
    );
  },
);
