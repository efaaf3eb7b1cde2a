import { expect } from "chai";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { checkers } from "../../sim/checkers/index.ts";
import { plant } from "../../sim/hooks.ts";
import { hunt } from "../../sim/hunt.ts";
import { mutants } from "../../sim/mutants.ts";

const MOST_SEEDS = 10_000;

describe("negative controls: a planted bug is noticed", () => {
  for (const mutant of mutants)
    it(`${mutant.id}: ${mutant.bug}`, { timeout: 1_800_000 }, async () => {
      const result = await hunt(mutant, MOST_SEEDS);
      expect(result.found, `survived ${result.seeds} seeds`).not.to.equal(null);
    });

  it("every planted bug has its place: the text occurs once, and what replaces it differs", () => {
    expect(new Set(mutants.map(({ id }) => id)).size).to.equal(mutants.length);
    for (const mutant of mutants) {
      const source = readFileSync(mutant.file, "utf8");
      expect(plant(mutant, source), mutant.id).not.to.equal(source);
      for (const checker of mutant.expect) expect(Object.keys(checkers)).to.include(checker);
    }
  });

  it("a mutant whose text is not there, or twice, is an error", () => {
    const mutant = { ...mutants[0]!, find: "a" };
    expect(() => plant(mutant, "b")).to.throw("occurs 0 times");
    expect(() => plant(mutant, "aba")).to.throw("occurs 2 times");
    expect(plant(mutant, "bab")).to.equal(`b${mutant.replace}b`);
  });
});
