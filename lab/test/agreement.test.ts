import { expect } from "chai";
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

const text = fc.string({ maxLength: 40 });

describe("agreement meter", () => {
  it("T16, AG1: the mean over all pairs, by hand", () => {
    // Pairs: 1/3, 1/3, 1.
    expect(agreement(["ship it", "ship now", "now ship"])).to.equal(56);
    expect(agreement(["a", "b"])).to.equal(0);
    expect(agreement(["a b c", "a b d", "a b e"])).to.equal(50);
    // 1/8 = 12.5 %: half up.
    expect(agreement(["a b c d e", "a f g h"])).to.equal(13);
  });

  it("T16, AG1: fewer than two texts have no reading", () => {
    expect(agreement([])).to.equal(null);
    expect(agreement(["alone"])).to.equal(null);
  });

  it("T16, AG1, AG2: within 0..100, symmetric, whatever the order, 100 for equal texts", () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 2, maxLength: 6 }), fc.nat(), (texts, turn) => {
        const percent = agreement(texts) as number;
        expect(percent).to.be.within(0, 100).and.to.satisfy(Number.isInteger);
        const at = turn % texts.length;
        expect(agreement([...texts.slice(at), ...texts.slice(0, at)].toReversed())).to.equal(percent);
        expect(agreement(texts.map(() => texts[0] as string))).to.equal(100);
      }),
    );
    fc.assert(
      fc.property(text, text, (one, other) => {
        const similarity = lexicalSimilarity(one, other);
        expect(similarity).to.be.within(0, 1_000_000).and.to.satisfy(Number.isInteger);
        expect(lexicalSimilarity(other, one)).to.equal(similarity);
      }),
    );
  });

  it("T17, AG2, AG3: similarity is pluggable and cut off; the fallback ignores case, punctuation and repetition", () => {
    expect(lexicalSimilarity("Yes, yes: it is.", "it IS yes")).to.equal(1_000_000);
    expect(lexicalSimilarity("über alles", "über nichts")).to.equal(333_333);
    expect(lexicalSimilarity("", "...")).to.equal(1_000_000);
    expect(agreement(["a", "b"], () => 420_000)).to.equal(42);
    expect(agreement(["a", "b"], () => 9e9)).to.equal(100);
    expect(agreement(["a", "b"], () => -1)).to.equal(0);
  });

  it("T19, AG4: bands at their bounds", () => {
    expect([0, 29, 30, 70, 71, 100].map(bandOf)).to.deep.equal([
      "contested",
      "contested",
      "read",
      "read",
      "accept",
      "accept",
    ]);
  });

  it("T20, AG5: nothing that decides looks at the meter", () => {
    const agents = join(import.meta.dirname, "../../agents");
    const users = globSync(["core/**/*.ts", "node/**/*.ts"], { cwd: agents }).filter((path) =>
      /\/agreement\.ts"/.test(readFileSync(join(agents, path), "utf8")),
    );
    expect(users).to.deep.equal([]);
  });

  const saying = (first: string, critique: string, last: string): SeatScript => ({
    answer: ({ prompt }) => {
      const task = taskOf(prompt);
      if (task === "critique")
        return { fields: Object.fromEntries(prompt.schema.properties.map(({ name }) => [name, critique])) };
      return { fields: { proof: task === "revise" ? last : first, answer: "yes" } };
    },
  });

  it("T18, AG6: the course of a debate, round by round; it may fall before it rises", () => {
    const attempt = attemptOf(4, { protocol: 8 });
    const scripts = [0, 1, 2, 3].map((seat) => saying("we ship", `critique${seat}`, "done"));
    const [state] = watched(debate, attempt, scripts).states;
    expect(agreementOf(attempt, debateForms, state!.tally)).to.deep.equal([
      { phase: revealForm.phase, percent: 100 },
      { phase: CRITIQUE, percent: 0 },
      { phase: REPLY, percent: 100 },
    ]);
  });

  it("T28, AG1, AG6: a council has one reading, over those who answered", () => {
    const attempt = attemptOf(4, { protocol: 7 });
    const scripts = [0, 1, 2, 3].map((seat) => saying(seat < 2 ? "a b" : "a c", "", ""));
    scripts[3] = { answer: () => null };
    const [state] = watched(council, attempt, scripts).states;
    // {yes a b} twice, {yes a c}: 1, 1/2, 1/2.
    expect(agreementOf(attempt, councilForms, state!.tally)).to.deep.equal([{ phase: revealForm.phase, percent: 67 }]);
    expect(agreementOf(attempt, councilForms, state!.tally, () => 10_000)[0]?.percent).to.equal(1);
  });
});
