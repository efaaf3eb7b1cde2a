import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { createMemoryClock } from "../../agents/adapters/memory/clock.ts";
import { clockSuite } from "./clock.suite.ts";

clockSuite("system", () => ({ clock: createSystemClock(), pass: async (ms) => await sleep(ms) }));

clockSuite("memory", () => {
  const clock = createMemoryClock(1_700_000_000_000);
  return { clock, pass: async (ms) => clock.advance(ms) };
});

describe("clock: system", () => {
  it("keeps the process alive only when told to", () => {
    const file = new URL("../../agents/adapters/clock/system-clock.ts", import.meta.url).href;
    const run = (keepAlive: boolean): string => {
      const code = `import { createSystemClock } from "${file}"; createSystemClock({ keepAlive: ${keepAlive} }).schedule(1_000, () => console.log("fired"));`;
      return spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" }).stdout;
    };
    assert.equal(run(true), "fired\n");
    assert.equal(run(false), "");
  });
});

describe("clock: memory", () => {
  it("fires timers that callbacks schedule, at their own time, but none beyond the end", () => {
    const clock = createMemoryClock();
    const at: number[] = [];
    const tick = (): void => {
      at.push(clock.now());
      clock.schedule(10, tick);
    };
    clock.schedule(10, tick);
    clock.advance(35);
    assert.deepEqual(at, [10, 20, 30]);
    assert.equal(clock.now(), 35);
    assert.equal(clock.pending, 1);
    assert.equal(clock.nextAt, 40);
  });

  it("lets promises settle between timers, and runs until idle", async () => {
    const clock = createMemoryClock();
    const order: string[] = [];
    clock.schedule(
      10,
      () =>
        void Promise.resolve()
          .then(async () => await Promise.resolve())
          .then(() => order.push("promise of 10")),
    );
    clock.schedule(20, () => order.push("timer 20"));
    await clock.advanceAsync(30);
    assert.deepEqual(order, ["promise of 10", "timer 20"]);

    let left = 3;
    const again = (): void => {
      left--;
      if (left > 0) void Promise.resolve().then(() => clock.schedule(1000, again));
    };
    clock.schedule(1000, again);
    assert.equal(await clock.runUntilIdle(), 3);
    assert.equal(clock.now(), 3030);

    const endless = (): void => void clock.schedule(1, endless);
    endless();
    await assert.rejects(clock.runUntilIdle(50), /not idle after 50 timers/u);
  });

  it("keeps thousands of timers in order", () => {
    const clock = createMemoryClock();
    const fired: number[] = [];
    const delays = Array.from({ length: 3000 }, (_, i) => (i * 7919) % 1000);
    for (const delay of delays) clock.schedule(delay, () => fired.push(delay));
    clock.advance(1000);
    assert.deepEqual(
      fired,
      delays.toSorted((a, b) => a - b),
    );
  });
});
