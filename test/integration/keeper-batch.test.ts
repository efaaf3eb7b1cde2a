// What an agent's keeper settles together, on a real chain and on the memory chain.
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createMemoryJournals } from "../../agents/adapters/memory/journal.ts";
import type { BatchResult, ChainWriter, FinalRequest } from "../../agents/ports/chain.ts";
import { createMemoryHarness } from "../adapters/chain-memory.ts";
import { createNodeHarness } from "../adapters/chain-node.ts";
import { mineTo, unsettled } from "../adapters/chain-questions.ts";
import { run } from "./keeper-world.ts";
import { until } from "../support/until.ts";

for (const [name, createHarness] of [
  ["memory", createMemoryHarness],
  ["viem on anvil", createNodeHarness],
] as const) {
  describe(`a keeper that settles: ${name}`, async () => {
    const harness = await createHarness();
    after(() => harness.stop());

    it("SE9: settles in one transaction what became final at about the same time; a record that the chain refuses holds back no other, and is settled later", async () => {
      const [reader, writer] = [await harness.reader(), await harness.writer(0)];
      // All three become final in the same 50 blocks: other blocks are another agent's turn.
      const { number } = await reader.head();
      await mineTo(harness, (number / 50n + 3n) * 50n - 20n);
      const all: (FinalRequest & { readonly finalAt: bigint })[] = [];
      for (let index = 0; index < 3; index += 1) all.push(await unsettled(harness));
      assert.equal(new Set(all.map(({ finalAt }) => finalAt / 50n)).size, 1);
      const batches: (readonly BatchResult[])[] = [];
      // The first time the second record lacks a round.
      const settleAll: ChainWriter["settleAll"] = async (requests, signal) => {
        const bad = requests.map((one, index) =>
          batches.length === 0 && index === 1 ? { ...one, rounds: one.rounds.slice(1) } : one,
        );
        const outcomes = await writer.settleAll(bad, signal);
        batches.push(outcomes);
        return outcomes;
      };
      const agent = await run(
        harness,
        createMemoryJournals(),
        { settleAll },
        { settleBatchMs: 15_000, relayStaggerMs: 10 },
      );
      try {
        const isSettled = async ({ request }: FinalRequest): Promise<boolean> =>
          (await reader.requestState(request.id)).settled;
        await until(() => batches.length === 2);
        assert.deepEqual(await Promise.all(all.map(isSettled)), [true, true, true]);
      } finally {
        await agent.stop();
      }
      const transactions = batches.map((outcomes) =>
        outcomes.map((one) => (typeof one === "object" && "transactionHash" in one ? one.transactionHash : "refused")),
      );
      const [first, second] = transactions;
      assert.deepEqual(first, [first?.[0], "refused", first?.[0]]);
      assert.notEqual(first?.[0], "refused");
      assert.equal(second?.length, 1);
    });
  });
}
