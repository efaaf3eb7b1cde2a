// docs/spec/certify.qnt and agents/core/seat/certify do the same, step by step.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MODEL, quint } from "../../scripts/spec/quint.ts";
import { differenceIn, refusalOf, simulate } from "../support/core/certify-runs.ts";

const RUNS = 5;
const CORE_SEEDS = [101, 102];

describe("the model of certify", () => {
  it("has types", async () => {
    assert.deepEqual(await quint("typecheck", MODEL), { code: 0, output: "" });
  });

  it("keeps its invariants, and the core does what it does", async () => {
    const { violation, runs } = await simulate(MODEL, { seed: 1, runs: RUNS });
    assert.equal(violation, null);
    assert.equal(runs.length, RUNS);
    assert.deepEqual(
      runs.map(differenceIn).filter((one) => one !== null),
      [],
    );
  });

  it("allows what the core does", async () => {
    assert.equal(await refusalOf(CORE_SEEDS), null);
  });
});
