import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { checkers } from "../../sim/checkers/index.ts";
import { plant } from "../../sim/hooks.ts";
import { mutants } from "../../sim/mutants.ts";
import { assertIncludes } from "../support/assertions.ts";

/** `mutants.test.ts` hunts the bugs; these tests fail as soon as the source of a bug changes. */
describe("planted faults", () => {
  it("match the source: each text occurs once and differs from its replacement", () => {
    assert.equal(new Set(mutants.map(({ id }) => id)).size, mutants.length);
    for (const mutant of mutants) {
      const source = readFileSync(mutant.file, "utf8");
      assert.notEqual(plant(mutant, source), source, mutant.id);
      for (const checker of mutant.expect) assertIncludes(Object.keys(checkers), checker);
    }
  });

  it("are refused if their text is missing or occurs twice", () => {
    const mutant = { ...mutants[0]!, find: "a" };
    assert.throws(() => plant(mutant, "b"), /occurs 0 times/);
    assert.throws(() => plant(mutant, "aba"), /occurs 2 times/);
    assert.equal(plant(mutant, "bab"), `b${mutant.replace}b`);
  });
});
