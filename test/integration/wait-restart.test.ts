// Restarts of agents while a request waits (SE25), on the memory chain.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openCursor } from "../../agents/node/cursor.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import type { RequestState } from "../../agents/core/request/events.ts";
import type { Address } from "../../agents/core/types.ts";
import type { ChainReader } from "../../agents/ports/chain.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { memoryWorld, type MemoryAgent } from "./memory-world.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;
const DELAY_SECONDS = 30 * 86_400;
const terms = { ...booleanTerms, protocol: mbft.code, retries: 1, delay: DELAY_SECONDS };
/** Far more blocks than the cursor waits between two stored positions. */
const WAITED_BLOCKS = 600;
/** The cursor is stored every hundred blocks while nothing happens. */
const MOST_REPLAYED = 101;

function world() {
  const { chain, agents } = memoryWorld([0, 1, 2, 3].map(() => truthful("yes")));
  const reader = chain.reader();
  /** Starts all agents, and counts the calls for the head and the blocks that the first one reads. */
  const start = () => {
    const counts = { heads: 0, batches: 0, handled: -1n };
    const watched: ChainReader = {
      ...reader,
      head: (signal) => {
        counts.heads += 1;
        return reader.head(signal);
      },
      follow: (from, onBatch, ...rest) =>
        reader.follow(
          from,
          async (batch) => {
            await onBatch(batch);
            counts.batches += 1;
            counts.handled = batch.cursor.blockNumber;
          },
          ...rest,
        ),
    };
    const running = agents.map((agent, index) => agent.start(index === 0 ? { chain: watched } : {}));
    /** Waits until the first agent has handled one more block. */
    const caughtUp = async (): Promise<void> => {
      chain.mine(1);
      const { number } = await reader.head();
      await until(() => counts.handled >= number);
    };
    const stop = async (): Promise<void> => {
      for (const one of running.splice(0)) await one.stop();
    };
    return { counts, caughtUp, stop };
  };
  return { chain, reader, first: agents[0] as MemoryAgent, start };
}

describe("agents that restart while a request waits", () => {
  it("SE25: the request holds no position back, is found again, called after its pause, drawn and decided", async (t) => {
    const { chain, reader, first, start } = world();
    let agents = start();
    t.after(() => agents.stop());
    const { request } = chain.ask(consumer, terms, "Is 720 more than 500?");
    const stateIs = (isSo: (state: RequestState) => boolean) => async (): Promise<boolean> =>
      isSo(await reader.requestState(request.id));
    const restart = async (): Promise<void> => {
      await agents.caughtUp();
      await agents.stop();
      agents = start();
      await agents.caughtUp();
      assert.ok(agents.counts.batches <= MOST_REPLAYED, `${agents.counts.batches} batches`);
    };
    chain.mine(WAITED_BLOCKS);
    // In the pause.
    await restart();
    chain.passTime(DELAY_SECONDS + 1);
    await until(stateIs(({ attempt }) => attempt === 1));
    // While the committee is awaited.
    await restart();
    const ticker = setInterval(() => chain.mine(), 50);
    t.after(() => clearInterval(ticker));
    await until(stateIs(({ status }) => status !== "requested"));
    chain.mine(MOST_REPLAYED);
    await agents.caughtUp();
    await agents.stop();
    const { status, attempt } = await reader.requestState(request.id);
    assert.deepEqual([status, attempt], ["decided", 1]);
    const cursor = await openCursor(first.journals);
    await cursor.close();
    assert.deepEqual([...cursor.kept], []);
  });

  it("SE25: a request that waits costs a keeper a call for each block, and none for each tick", async (t) => {
    const { chain, start } = world();
    const agents = start();
    t.after(() => agents.stop());
    chain.ask(consumer, terms, "Is 720 more than 500?");
    await agents.caughtUp();
    // Longer than two ticks.
    await until(async () => {
      const before = agents.counts.heads;
      await sleep(1_000);
      return agents.counts.heads === before;
    });
    const before = agents.counts.heads;
    await sleep(2_000);
    assert.equal(agents.counts.heads, before);
    chain.mine(1);
    await until(() => agents.counts.heads > before);
  });
});
