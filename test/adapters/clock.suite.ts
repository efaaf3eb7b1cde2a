import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Clock } from "../../agents/ports/clock.ts";

export interface ClockHarness {
  readonly clock: Clock;
  /** Lets that much of the clock's time pass. */
  pass(ms: number): Promise<void>;
}

export function clockSuite(adapter: string, create: () => ClockHarness): void {
  describe(`clock: ${adapter}`, () => {
    it("fires in the order of time, equal times in the order of scheduling", async () => {
      const { clock, pass } = create();
      const fired: string[] = [];
      clock.schedule(30, () => fired.push("late"));
      clock.schedule(5, () => fired.push("one"));
      clock.schedule(5, () => fired.push("two"));
      clock.schedule(-3, () => fired.push("overdue"));
      assert.deepEqual(fired, [], "never within schedule");
      await pass(80);
      assert.deepEqual(fired, ["overdue", "one", "two", "late"]);
    });

    it("does not fire a cancelled timer; cancelling twice or late is harmless", async () => {
      const { clock, pass } = create();
      const fired: string[] = [];
      const cancel = clock.schedule(5, () => fired.push("cancelled"));
      const done = clock.schedule(5, () => fired.push("done"));
      cancel();
      cancel();
      await pass(40);
      done();
      assert.deepEqual(fired, ["done"]);
    });

    it("goes forward by at least the delay", async () => {
      const { clock, pass } = create();
      const start = clock.now();
      let at = 0;
      clock.schedule(20, () => (at = clock.now()));
      await pass(60);
      assert.ok(at - start >= 19, `${at - start} ms`);
      assert.ok(clock.now() >= at);
    });

    it("does not fire a delay beyond 2^31 ms at once", async () => {
      const { clock, pass } = create();
      let fired = false;
      const cancel = clock.schedule(2 ** 33, () => (fired = true));
      await pass(20);
      cancel();
      assert.equal(fired, false);
    });
  });
}
