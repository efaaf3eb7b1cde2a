import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { learned, skillOf } from "../../agents/core/skill.ts";

interface Vectors {
  readonly fresh: number;
  readonly walks: readonly {
    readonly name: string;
    /** One digit a contested decision: 1 where the agent agreed. */
    readonly walk: string;
    readonly steps: readonly { after: number; agreed: number; contested: number; skill: number }[];
  }[];
}

const vectors = JSON.parse(readFileSync(new URL("../vectors/skill.json", import.meta.url), "utf8")) as Vectors;

test("an agent without a contested decision has skill 2", () => {
  assert.equal(skillOf({ agreed: 0, contested: 0 }), 2);
  assert.equal(vectors.fresh, 2);
});

for (const { name, walk, steps } of vectors.walks)
  test(`the counters and the skill follow the vectors: ${name}`, () => {
    let counters = { agreed: 0, contested: 0 };
    const seen = [...walk].map((digit) => {
      counters = learned(counters, digit === "1");
      return { ...counters, skill: skillOf(counters) };
    });
    for (const { after, ...step } of steps) assert.deepEqual(seen[after - 1], step, `after ${after}`);
    for (const { agreed, contested } of seen) assert.ok(agreed <= contested && contested <= 2 ** 15);
  });
