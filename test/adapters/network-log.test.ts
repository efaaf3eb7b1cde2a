import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { NetworkEvent } from "../../agents/adapters/libp2p/events.ts";
import { createMemoryClock } from "../../agents/adapters/memory/clock.ts";
import { createNetworkLog } from "../../agents/cli/agent/network-log.ts";
import type { Address } from "../../agents/core/types.ts";
import { silentLog } from "../integration/world.ts";
import { servedMetrics } from "./fixtures/metrics.ts";

const refused: NetworkEvent = { kind: "connectionRefused", host: "203.0.113.7", strangers: 16 };
const peer = `0x${"ab".repeat(20)}` as Address;

describe("the log of the network", () => {
  it("says at once that strangers are refused, and once a minute how many more; metrics count all", async () => {
    const clock = createMemoryClock();
    const lines: object[] = [];
    const log = { ...silentLog, warn: (data: object) => lines.push(data), info: (data: object) => lines.push(data) };
    const network = createNetworkLog(log, clock);
    for (let i = 0; i < 1_000; i++) network.report(refused);
    assert.deepEqual(lines, [{ ...refused, times: 1 }]);
    network.report({ kind: "frameRefused", peer, reason: "too long" });
    network.report({ kind: "linkUp", peer });
    assert.equal(lines.length, 3);
    clock.advance(60_000);
    network.report(refused);
    assert.deepEqual(lines[3], { ...refused, times: 1_000 });
    const metrics = await servedMetrics();
    try {
      metrics.showNetwork(() => network.refused());
      const total = (what: string): string => `conclave_network_refused_total{kind="${what}"}`;
      assert.deepEqual(Object.fromEntries(await metrics.read()), {
        [total("connection")]: 1_001,
        [total("stream")]: 0,
        [total("frame")]: 1,
        [total("queue")]: 0,
      });
    } finally {
      await metrics.close();
    }
  });
});
