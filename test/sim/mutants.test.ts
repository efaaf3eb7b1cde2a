import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { checkers } from "../../sim/checkers/index.ts";
import { plant } from "../../sim/hooks.ts";
import { hunt } from "../../sim/hunt.ts";
import { mutants } from "../../sim/mutants.ts";
import { assertIncludes } from "../support/assertions.ts";

const MOST_SEEDS = 10_000;

describe("negative controls: a planted bug is noticed", () => {
  for (const mutant of mutants)
    it(`${mutant.id}: ${mutant.bug}`, { timeout: 1_800_000 }, async () => {
      const result = await hunt(mutant, MOST_SEEDS);
      assert.notEqual(result.found, null, `survived ${result.seeds} seeds`);
    });

  it("every planted bug has its place: the text occurs once, and what replaces it differs", () => {
    assert.equal(new Set(mutants.map(({ id }) => id)).size, mutants.length);
    for (const mutant of mutants) {
      const source = readFileSync(mutant.file, "utf8");
      assert.notEqual(plant(mutant, source), source, mutant.id);
      for (const checker of mutant.expect) assertIncludes(Object.keys(checkers), checker);
    }
  });

  it("a mutant whose text is not there, or twice, is an error", () => {
    const mutant = { ...mutants[0]!, find: "a" };
    assert.throws(() => plant(mutant, "b"), /occurs 0 times/);
    assert.throws(() => plant(mutant, "aba"), /occurs 2 times/);
    assert.equal(plant(mutant, "bab"), `b${mutant.replace}b`);
  });
});
