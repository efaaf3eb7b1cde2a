import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SeatIndex } from "../../agents/core/types.ts";
import { optionsOf } from "../../sim/arguments.ts";
import { commandFor } from "../../sim/command.ts";
import { mutants } from "../../sim/mutants.ts";
import { createPlan } from "../../sim/plan.ts";
import { createPool } from "../../sim/pool.ts";
import { isBeside } from "../../sim/twins.ts";
import { assertAbove, assertIncludes } from "../support/assertions.ts";
import { everySchedule, N, playTwins, twinsOf } from "./twins.suite.ts";

const twins = { windows: 1, windowMs: 2_000 };

describe("twins", () => {
  it("SM11: every seat has the twin, and everybody stands on either side in each window, once", () => {
    const schedules = everySchedule({ windows: 2, windowMs: 100 }).map((seed) => {
      const plan = createPlan(twinsOf("mbft", { windows: 2, windowMs: 100 }), seed).twins ?? assert.fail("no schedule");
      return JSON.stringify([plan.seat, plan.windows.map(({ apart, isSecondApart }) => [[...apart], isSecondApart])]);
    });
    assert.equal(schedules.length, N * 16 * 16);
    assert.equal(new Set(schedules).size, schedules.length);
  });

  it("SM11: an instance reaches who is on its side, and everybody after the last window", () => {
    const [apart, beside] = [1 as SeatIndex, 2 as SeatIndex];
    const plan = {
      seat: 0 as SeatIndex,
      windows: [{ from: 0, until: 100, apart: new Set([apart]), isSecondApart: true }],
    };
    const reached = (now: number): readonly boolean[] =>
      ([0, 1] as const).flatMap((instance) => [apart, beside].map((seat) => isBeside(plan, instance, seat, now)));
    assert.deepEqual(reached(50), [false, true, true, false]);
    assert.deepEqual(reached(100), [true, true, true, true]);
  });

  it("prints a command that plays the same schedule again", () => {
    const options = twinsOf("wbft", twins);
    assert.deepEqual(optionsOf(commandFor(options, 7).replace("npm run sim --", "")), options);
  });

  it("every schedule of one window is safe and every twin is provable", async () => {
    const pool = await createPool(2, { realSignatures: false, mutant: null });
    try {
      for (const protocol of ["mbft", "council"]) {
        const results = await playTwins(pool, protocol, twins);
        assertAbove(
          results.filter(({ counts }) => (counts["first twin"] ?? 0) > 0 && (counts["second twin"] ?? 0) > 0).length,
          50,
        );
      }
    } finally {
      await pool.close();
    }
  });

  it("finds a seat that keeps no evidence of a twin", async () => {
    const mutant = mutants.find(({ id }) => id === "CE8-evidence") ?? assert.fail("no such mutant");
    const pool = await createPool(2, { realSignatures: false, mutant });
    try {
      const results = await pool.run(twinsOf("mbft", twins), everySchedule(twins));
      const found = results.flatMap(({ violations }) => violations.map(({ checker }) => checker));
      assertIncludes(found, "accountability");
    } finally {
      await pool.close();
    }
  });
});
