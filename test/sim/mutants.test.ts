import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hunt } from "../../sim/hunt.ts";
import { mutants } from "../../sim/mutants.ts";

const MOST_SEEDS = 10_000;

describe("negative controls: a planted fault is noticed", () => {
  for (const mutant of mutants)
    it(`${mutant.id}: ${mutant.bug}`, { timeout: 1_800_000 }, async () => {
      const result = await hunt(mutant, MOST_SEEDS);
      assert.notEqual(result.found, null, `survived ${result.seeds} seeds`);
    });
});
