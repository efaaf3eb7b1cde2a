import assert from "node:assert/strict";
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { createMemorySourceReader } from "../../agents/adapters/memory/source-reader.ts";
import { createMemoryContentStore } from "../support/memory/content-store.ts";
import { createMemoryEvidence } from "../support/memory/evidence.ts";
import type { MemoryJournals } from "../../agents/adapters/memory/journal.ts";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { createMemoryHub } from "../../agents/adapters/memory/network.ts";
import { createAgent } from "../../agents/node/agent.ts";
import type { AgentTiming } from "../../agents/node/config.ts";
import type { ChainReader, ChainWriter } from "../../agents/ports/chain.ts";
import type { ChainHarness } from "../adapters/chain-questions.ts";
import { fastTiming, silentLog, truthful } from "./world.ts";

export interface Run {
  /** Last block whose events the agent has handled. */
  handled(): bigint;
  stop(): Promise<void>;
}

/** Runs one agent of the harness, which takes its seats but has no peers. */
export async function run(
  harness: ChainHarness,
  journals: MemoryJournals,
  change: Partial<ChainWriter> = {},
  timing: Partial<AgentTiming> = {},
): Promise<Run> {
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
  const store = createMemoryContentStore({ clock });
  const ports = {
    chain,
    writer: { ...(await harness.writer(0)), ...change },
    transactions: { certificate: async () => null },
    network,
    store,
    sources: createMemorySourceReader(store),
    model: createMemoryModel(truthful("yes"), { confidence: () => 900_000 }),
    signer,
    journals,
    evidence: createMemoryEvidence(),
    clock,
    log: silentLog,
  };
  const abort = new AbortController();
  const done = createAgent(ports, { ...fastTiming, relayStaggerMs: 50, ...timing }, Infinity).run(abort.signal);
  return {
    handled: () => handled,
    stop: async () => {
      abort.abort();
      await done;
      await network.close();
    },
  };
}
