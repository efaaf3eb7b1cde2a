import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { createMemoryContentStore } from "../support/memory/content-store.ts";
import { createMemoryEvidence } from "../support/memory/evidence.ts";
import { createMemoryJournals, type MemoryJournals } from "../../agents/adapters/memory/journal.ts";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { createMemoryHub } from "../../agents/adapters/memory/network.ts";
import { createAgent } from "../../agents/node/agent.ts";
import { openCursor } from "../../agents/node/cursor.ts";
import type { ChainReader, ChainWriter } from "../../agents/ports/chain.ts";
import { createMemoryHarness } from "../adapters/chain-memory.ts";
import { createNodeHarness } from "../adapters/chain-node.ts";
import { drawn, type ChainHarness } from "../adapters/chain-questions.ts";
import { fastTiming, silentLog, truthful, until } from "./world.ts";

/** More blocks than the cursor waits between two stored positions while nothing happens. */
const QUIET_BLOCKS = 120;
/** How far back a restart looks: docs/operating.md. */
const LOOK_BACK_BLOCKS = 50_400;

interface Run {
  /** Last block whose events the agent has handled. */
  handled(): bigint;
  stop(): Promise<void>;
}

/** Runs one agent of the harness, which takes its seats but has no peers. */
async function run(harness: ChainHarness, journals: MemoryJournals, change: Partial<ChainWriter> = {}): Promise<Run> {
  const reader = await harness.reader();
  const clock = createSystemClock();
  let handled = -1n;
  const chain: ChainReader = {
    ...reader,
    follow: (from, onBatch, ...rest) => {
      const watched: typeof onBatch = async (batch) => {
        await onBatch(batch);
        handled = batch.cursor.blockNumber;
      };
      return reader.follow(from, watched, ...rest);
    },
  };
  const signer = harness.keys[0];
  assert.ok(signer !== undefined);
  const network = createMemoryHub({ clock }).join(signer.address);
  const ports = {
    chain,
    writer: { ...(await harness.writer(0)), ...change },
    transactions: { certificate: async () => null },
    network,
    store: createMemoryContentStore({ clock }),
    model: createMemoryModel(truthful("yes"), { confidence: () => 900_000 }),
    signer,
    journals,
    evidence: createMemoryEvidence(),
    clock,
    log: silentLog,
  };
  const abort = new AbortController();
  const done = createAgent(ports, { ...fastTiming, relayStaggerMs: 50 }, Infinity).run(abort.signal);
  return {
    handled: () => handled,
    stop: async () => {
      abort.abort();
      await done;
      await network.close();
    },
  };
}

/** Leaves a final request that a running agent could not settle, and mines so many blocks. */
async function leaveUnsettled(harness: ChainHarness, journals: MemoryJournals, blocks: number) {
  let tries = 0;
  const settle: ChainWriter["settle"] = async () => {
    tries += 1;
    throw new Error("no chain for settlements");
  };
  const agent = await run(harness, journals, { settle });
  const { request, awaited, committee, certificate } = await drawn(harness);
  const receipt = await (await harness.writer(1)).commit(request, awaited, certificate);
  assert.ok(receipt !== "already");
  await until(() => tries > 0);
  await harness.mine(blocks);
  await until(() => agent.handled() >= receipt.blockNumber + BigInt(blocks));
  await agent.stop();
  return { request, committedAt: receipt.blockNumber };
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
