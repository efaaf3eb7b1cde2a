import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Address } from "../../agents/core/types.ts";
import type { Network } from "../../agents/ports/network.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { memoryWorld } from "./memory-world.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;

it("SE20: an agent that was cut off, missed three seats and fell asleep wakes itself once it reaches its peers again", async () => {
  let isCutOff = true;
  const last = (network: Network, _: unknown, index: number): Network =>
    index < 3
      ? network
      : {
          ...network,
          send: (to, frame) => (isCutOff ? undefined : network.send(to, frame)),
          onFrame: (listener) => network.onFrame((from, frame) => (isCutOff ? undefined : listener(from, frame))),
          connected: () => (isCutOff ? [] : network.connected()),
        };
  const world = memoryWorld(
    [0, 1, 2, 3].map(() => truthful("yes")),
    last,
  );
  const running = world.agents.map((agent) => agent.start());
  const ticker = setInterval(() => world.chain.mine(), 50);
  const reader = world.chain.reader();
  const isAsleep = async (): Promise<boolean> =>
    (await reader.agentBySigner(world.agents[3]!.keys.address))?.asleep === true;
  try {
    for (let asked = 0; asked < 3; asked++) {
      assert.equal(await isAsleep(), false);
      const { request } = world.chain.ask(consumer, booleanTerms, "Is 720 more than 500?");
      await until(async () => (await reader.requestState(request.id)).settled);
    }
    await until(isAsleep);
    await sleep(1_500);
    assert.equal(await isAsleep(), true);
    isCutOff = false;
    await until(async () => !(await isAsleep()));
  } finally {
    clearInterval(ticker);
    for (const one of running) await one.stop();
  }
});
