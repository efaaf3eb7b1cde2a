import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createMemoryJournals, type MemoryJournals } from "../../agents/adapters/memory/journal.ts";
import { openCursor } from "../../agents/node/cursor.ts";
import type { ChainWriter } from "../../agents/ports/chain.ts";
import { createMemoryHarness } from "../adapters/chain-memory.ts";
import { createNodeHarness } from "../adapters/chain-node.ts";
import { unsettled, type ChainHarness } from "../adapters/chain-questions.ts";
import { run } from "./keeper-world.ts";
import { until } from "../support/until.ts";

/** More blocks than the cursor waits between two stored positions while nothing happens. */
const QUIET_BLOCKS = 120;
/** How far back a restart looks: docs/operating.md. */
const LOOK_BACK_BLOCKS = 50_400;

/** Leaves a final request that a running agent could not settle, and mines so many blocks. */
async function leaveUnsettled(harness: ChainHarness, journals: MemoryJournals, blocks: number) {
  let tries = 0;
  const settleAll: ChainWriter["settleAll"] = async () => {
    tries += 1;
    throw new Error("no chain for settlements");
  };
  const agent = await run(harness, journals, { settleAll });
  const { request, finalAt } = await unsettled(harness);
  await until(() => tries > 0);
  await harness.mine(blocks);
  await until(() => agent.handled() >= finalAt + BigInt(blocks));
  await agent.stop();
  return { request, committedAt: finalAt };
}

async function storedPosition(journals: MemoryJournals): Promise<bigint> {
  const cursor = await openCursor(journals);
  await cursor.close();
  return cursor.position?.blockNumber ?? -1n;
}

for (const [name, createHarness] of [
  ["memory", createMemoryHarness],
  ["viem on anvil", createNodeHarness],
] as const) {
  describe(`a keeper that restarts: ${name}`, async () => {
    const harness = await createHarness();
    after(() => harness.stop());

    it("SE9: settles requests that were final before it stopped and that nobody settled; then it forgets them", async () => {
      const journals = createMemoryJournals();
      const { request, committedAt } = await leaveUnsettled(harness, journals, QUIET_BLOCKS);
      const reader = await harness.reader();
      assert.equal((await reader.requestState(request.id)).settled, false);
      assert.ok((await storedPosition(journals)) < committedAt);

      const again = await run(harness, journals);
      try {
        await until(async () => (await reader.requestState(request.id)).settled);
        await harness.mine(QUIET_BLOCKS);
        const { number } = await reader.head();
        await until(() => again.handled() >= number);
      } finally {
        await again.stop();
      }
      assert.ok((await storedPosition(journals)) > committedAt);
    });
  });
}

describe("a keeper that restarts: how far it looks back", () => {
  it("SE9: a request that nobody settles for 50,400 blocks no longer holds the position back", async () => {
    const journals = createMemoryJournals();
    const { committedAt } = await leaveUnsettled(
      await createMemoryHarness(),
      journals,
      LOOK_BACK_BLOCKS + QUIET_BLOCKS,
    );
    assert.ok((await storedPosition(journals)) > committedAt);
  });
});
