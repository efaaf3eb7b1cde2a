import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createChainReader } from "../../agents/adapters/chain/reader.ts";
import { createNodeHarness, type NodeHarness } from "./chain-node.ts";
import { startFollowing, stopFollowers } from "./chain.suite.ts";
import { until } from "../support/until.ts";

const poll = { finalityDepth: 0, pollIntervalMs: 25 };

describe("a chain whose blocks do not come", () => {
  let harness: NodeHarness;
  before(async () => {
    harness = await createNodeHarness();
  });
  after(async () => {
    await stopFollowers();
    await harness.stop();
  });

  it("is warned of once for each pause of half a minute", async (test) => {
    const warnings: string[] = [];
    const logger = { info: () => undefined, warn: (_: object, message: string) => void warnings.push(message) };
    // It stands still but for what the test adds: on a busy machine a second can pass anywhere.
    let nowMs = performance.now();
    test.mock.method(performance, "now", () => nowMs);
    const reader = await createChainReader({ ...harness.options, ...poll, logger });
    const follower = startFollowing(reader, null);
    const { number } = await harness.client.getBlock();
    await until(() => follower.cursor?.blockNumber === number);
    nowMs += 29_000;
    await sleep(200);
    assert.deepEqual(warnings, []);
    nowMs += 2_000;
    await until(() => warnings.length === 1);
    assert.match(warnings[0] ?? "", /^no new block for 30 s.*--block-time 1/);
    await harness.mine(1);
    await until(() => follower.cursor?.blockNumber === number + 1n);
    await sleep(200);
    assert.equal(warnings.length, 1);
    nowMs += 31_000;
    await until(() => warnings.length === 2);
    await follower.stop();
  });
});
