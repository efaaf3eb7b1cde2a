import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { SeedResult } from "../../sim/batch.ts";
import { createPool, type Pool } from "../../sim/pool.ts";
import { assertAbove, assertIncludes } from "../support/assertions.ts";
import { described, options, seeds } from "./worlds.ts";

describe("simulator", () => {
  let pool: Pool;
  before(async () => {
    pool = await createPool(2, { realSignatures: false, mutant: null });
  });
  after(() => pool.close());

  it("SM1: makes the same world of a seed in any thread, whatever ran before", async () => {
    const first = await pool.run(options, seeds(12));
    const again = await pool.run(options, seeds(12).toReversed());
    const key = ({ seed, hash, frames, virtualMs }: SeedResult) => ({ seed, hash, frames, virtualMs });
    assert.deepEqual(again.map(key), first.map(key));
    assert.equal(new Set(first.map(({ hash }) => hash)).size, 12);
  });

  it("SM2: mbft decides without faults and Byzantine seats; if all are in time, with one call on the critical path", async () => {
    const results = await pool.run({ ...options, byzantine: 0, faults: [], kind: "boolean" }, seeds(20));
    assert.deepEqual(
      results.map(({ status }) => status),
      results.map(() => "decided"),
    );
    const punctual = results.filter(({ modelCalls }) => modelCalls === 4);
    assertAbove(punctual.length, 5);
    for (const { criticalPathCalls } of punctual) assert.equal(criticalPathCalls, 1);
  });

  it("keeps the checkers of promises for K <= f silent when more than f seats lie", async () => {
    const results = await pool.run({ ...options, byzantine: 3, byzantineKinds: ["lying"], faults: [] }, seeds(10));
    assertIncludes(
      results.map(({ status }) => status),
      "decided",
    );
    assert.deepEqual(
      described(results).filter((text) => /validity|termination/.test(text)),
      [],
    );
  });

  it("SI10: counts a verifier that derives the answer without a verdict among its supporters", async () => {
    const faults = ["model"] as const;
    const [result] = await pool.run({ ...options, byzantine: 0, faults, kind: "boolean" }, [166]);
    // Two models fail, so the answer needs a verifier beside the two seats that gave it.
    assert.deepEqual([result?.status, result?.modelCalls], ["decided", 6]);
    assert.deepEqual(result?.violations, []);
  });

  it("gives the same events with other bytes under real signatures", async () => {
    const real = await createPool(1, { realSignatures: true, mutant: null });
    try {
      const [slow] = await real.run({ ...options, faults: ["reorder"] }, [3]);
      const [fast] = await pool.run({ ...options, faults: ["reorder"] }, [3]);
      assert.deepEqual(slow?.violations, []);
      assert.equal(slow?.status, fast?.status);
    } finally {
      await real.close();
    }
  });
});
