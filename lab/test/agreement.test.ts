import assert from "node:assert/strict";
import fc from "fast-check";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { agreement, agreementOf, bandOf, lexicalSimilarity } from "../references/agreement.ts";
import { revealForm } from "../../agents/core/phases/proposals.ts";
import { CRITIQUE } from "../../agents/core/protocols/debate/critiques.ts";
import { council, councilForms } from "../../agents/core/protocols/council.ts";
import { REPLY, debate, debateForms } from "../../agents/core/protocols/debate/index.ts";
import { attemptOf, type SeatScript } from "../../test/support/core/committee.ts";
import { taskOf, watched } from "../../test/support/core/council-scripts.ts";
import { assertWithin } from "../../test/support/assertions.ts";

const text = fc.string({ maxLength: 40 });

describe("agreement meter", () => {
  it("T16, AG1: the mean over all pairs, by hand", () => {
    // Pairs: 1/3, 1/3, 1.
    assert.equal(agreement(["ship it", "ship now", "now ship"]), 56);
    assert.equal(agreement(["a", "b"]), 0);
    assert.equal(agreement(["a b c", "a b d", "a b e"]), 50);
    // 1/8 = 12.5 %: half up.
    assert.equal(agreement(["a b c d e", "a f g h"]), 13);
  });

  it("T16, AG1: fewer than two texts have no reading", () => {
    assert.equal(agreement([]), null);
    assert.equal(agreement(["alone"]), null);
  });

  it("T16, AG1, AG2: within 0..100, symmetric, independent of the order, 100 for equal texts", () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 2, maxLength: 6 }), fc.nat(), (texts, turn) => {
        const percent = agreement(texts) as number;
        assertWithin(percent, 0, 100);
        assert.ok(Number.isInteger(percent), `${percent}`);
        const at = turn % texts.length;
        assert.equal(agreement([...texts.slice(at), ...texts.slice(0, at)].toReversed()), percent);
        assert.equal(agreement(texts.map(() => texts[0] as string)), 100);
      }),
    );
    fc.assert(
      fc.property(text, text, (one, other) => {
        const similarity = lexicalSimilarity(one, other);
        assertWithin(similarity, 0, 1_000_000);
        assert.ok(Number.isInteger(similarity), `${similarity}`);
        assert.equal(lexicalSimilarity(other, one), similarity);
      }),
    );
  });

  it("T17, AG2, AG3: similarity is pluggable and cut off; the fallback ignores case, punctuation and repetition", () => {
    assert.equal(lexicalSimilarity("Yes, yes: it is.", "it IS yes"), 1_000_000);
    assert.equal(lexicalSimilarity("über alles", "über nichts"), 333_333);
    assert.equal(lexicalSimilarity("", "..."), 1_000_000);
    assert.equal(
      agreement(["a", "b"], () => 420_000),
      42,
    );
    assert.equal(
      agreement(["a", "b"], () => 9e9),
      100,
    );
    assert.equal(
      agreement(["a", "b"], () => -1),
      0,
    );
  });

  it("T19, AG4: bands at their bounds", () => {
    assert.deepEqual([0, 29, 30, 70, 71, 100].map(bandOf), [
      "contested",
      "contested",
      "read",
      "read",
      "accept",
      "accept",
    ]);
  });

  it("T20, AG5: nothing that decides uses the meter", () => {
    const agents = join(import.meta.dirname, "../../agents");
    const users = globSync(["core/**/*.ts", "node/**/*.ts"], { cwd: agents }).filter((path) =>
      /\/agreement\.ts"/.test(readFileSync(join(agents, path), "utf8")),
    );
    assert.deepEqual(users, []);
  });

  const saying = (first: string, critique: string, last: string): SeatScript => ({
    answer: ({ prompt }) => {
      const task = taskOf(prompt);
      if (task === "critique")
        return { fields: Object.fromEntries(prompt.small.schema.properties.map(({ name }) => [name, critique])) };
      return { fields: { proof: task === "revise" ? last : first, answer: "yes" } };
    },
  });

  it("T18, AG6: readings of a debate, round by round; they may fall before they rise", () => {
    const attempt = attemptOf(4, { protocol: 8 });
    const scripts = [0, 1, 2, 3].map((seat) => saying("we ship", `critique${seat}`, "done"));
    const [state] = watched(debate, attempt, scripts).states;
    assert.deepEqual(agreementOf(attempt, debateForms, state!.tally), [
      { phase: revealForm.phase, percent: 100 },
      { phase: CRITIQUE, percent: 0 },
      { phase: REPLY, percent: 100 },
    ]);
  });

  it("T28, AG1, AG6: a council has one reading, of the members that answered", () => {
    const attempt = attemptOf(4, { protocol: 7 });
    const scripts = [0, 1, 2, 3].map((seat) => saying(seat < 2 ? "a b" : "a c", "", ""));
    scripts[3] = { answer: () => null };
    const [state] = watched(council, attempt, scripts).states;
    // {yes a b} twice, {yes a c}: 1, 1/2, 1/2.
    assert.deepEqual(agreementOf(attempt, councilForms, state!.tally), [{ phase: revealForm.phase, percent: 67 }]);
    assert.equal(agreementOf(attempt, councilForms, state!.tally, () => 10_000)[0]?.percent, 1);
  });
});
