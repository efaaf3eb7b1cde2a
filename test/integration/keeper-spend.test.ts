// What a keeper spends on requests that nobody can answer.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { agentRegistryAbi } from "@conclave/contracts/abi";
import { createMemoryJournals } from "../../agents/adapters/memory/journal.ts";
import { createNodeHarness, type NodeHarness } from "../adapters/chain-node.ts";
import { asked, mineTo } from "../adapters/chain-questions.ts";
import { rejects } from "../adapters/chain.suite.ts";
import { run } from "./keeper-world.ts";
import { until } from "../support/until.ts";

describe("a request for more seats than there are agents", () => {
  let harness: NodeHarness;
  before(async () => {
    harness = await createNodeHarness();
  });
  after(() => harness.stop());

  it("is not taken; one whose agents leave before its seed block costs a keeper nothing until its refund", async () => {
    await assert.rejects(asked(harness, { committeeSize: 40, duration: 604_800 }));
    const reader = await harness.reader();
    const { registry } = harness.options;
    const epochBlocks = await harness.client.readContract({
      address: registry,
      abi: agentRegistryAbi,
      functionName: "epochBlocks",
    });
    // So late in an epoch the seed block lies in the next one, which does not show the agent that leaves.
    const { number } = await reader.head();
    await mineTo(harness, (number / epochBlocks + 2n) * epochBlocks - 10n);
    const { request, ...awaited } = await asked(harness, { committeeSize: 13, duration: 604_800 });
    const [leaving] = await reader.agents();
    assert.ok(leaving !== undefined);
    await harness.execute(registry, agentRegistryAbi, "startUnbonding", [leaving.agentId, leaving.stake]);

    const keeper = harness.accounts[1];
    assert.ok(keeper !== undefined);
    const sent = (): Promise<number> => harness.client.getTransactionCount({ address: keeper.address });
    const agent = await run(harness, createMemoryJournals());
    try {
      await mineTo(harness, awaited.seedBlock + 1n);
      await rejects(reader.committee(request, awaited), "CHAIN_REVERTED", "TooFewAgents");
      while ((await reader.head()).oldestSeed <= awaited.seedBlock) {
        assert.equal(await sent(), 0);
        await harness.mine(16);
        const head = await reader.head();
        await until(() => agent.handled() >= head.number);
      }
      // The only transaction is one that succeeds: the attempt is over.
      await until(async () => (await reader.requestState(request.id)).status === "refunded");
      assert.equal(await sent(), 1);
    } finally {
      await agent.stop();
    }
  });
});
