// Terms and questions that are refused before anything is paid.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { requireQuestion } from "../../agents/core/request/question.ts";
import { TERM_BOUNDS, termFlaw, type TermWords } from "../../agents/core/request/term-rules.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import type { Terms } from "../../agents/core/types.ts";
import { limits } from "../../agents/core/limits.ts";

const words: TermWords = { give: (term, value) => `${term} ${value}`, time: (seconds) => `${seconds / 3_600} h` };

function flawOf(change: Partial<Terms>): readonly [term: string, way: string] | null {
  const flaw = termFlaw(defaultTerms({ protocol: 1, ...change }), words);
  return flaw === null ? null : [flaw.term, flaw.way];
}

describe("terms: what the contract refuses", () => {
  it("names the bounds of each number, and takes both of them", () => {
    const beside: Partial<Record<string, Partial<Terms>>> = {
      delay: { retries: 1 },
      finality: { appeals: 1 },
      options: { kind: "choice" },
      decimals: { kind: "number" },
    };
    for (const [term, [least, most]] of Object.entries(TERM_BOUNDS)) {
      const change = beside[term] ?? {};
      for (const value of [least, most]) assert.equal(flawOf({ ...change, [term]: value }), null, `${term} = ${value}`);
      for (const value of [least - 1, most + 1, least + 0.5, Number.NaN])
        assert.equal(flawOf({ ...change, [term]: value })?.[0], term, `${term} = ${value}`);
    }
    assert.deepEqual(flawOf({ committeeSize: 3 }), ["committeeSize", "give a whole number, 4 to 64"]);
    assert.deepEqual(flawOf({ duration: 720_000 }), ["duration", "give 0.5 h to 168 h"]);
  });

  it("names what does not go together, in the words of whoever asks", () => {
    const secured = { security: "secured", assurance: "high", appeals: 2 } as const;
    const cases: readonly (readonly [change: Partial<Terms>, term: string, way: RegExp])[] = [
      [{ kind: "text", appeals: 1 }, "appeals", /two texts agree/],
      [{ committeeSize: 40, appeals: 1 }, "committeeSize", /the last appeal would call 81 seats, at most 64/],
      [{ committeeSize: 64, retries: 3 }, "committeeSize", /together would call 256 seats, at most 160/],
      [{ delay: 60 }, "delay", /allow it with retries 1 or more/],
      [{ finality: 90 }, "finality", /allow it with appeals 1 or more/],
      [{ ...secured, finality: 90 }, "finality", /leave one of the two out/],
      [{ ...secured, assurance: "normal" }, "security", /needs assurance high/],
      [{ ...secured, kind: "policies", options: 3 }, "security", /agree in part/],
      [{ ...secured, currency: "native" }, "security", /choose currency token/],
      [{ ...secured, appeals: 1 }, "appeals", /needs at least appeals 2/],
      [{ ...secured, duration: 604_800 }, "duration", /may last 168 h together; take at most 33.6 h/],
    ];
    for (const [change, term, way] of cases) {
      const flaw = flawOf(change);
      assert.equal(flaw?.[0], term, JSON.stringify(change));
      assert.match(flaw?.[1] ?? "", way);
    }
    assert.equal(flawOf(secured), null);
  });

  it("refuses a question of nothing but spaces and invisible characters as it refuses none, and one that is too long", () => {
    for (const question of ["", "   ", "\n\t\u00a0", "\u3164 \uffa0", "\u200b\u2060\ufeff", "\u{e0068}\ufe0f"])
      assert.throws(() => requireQuestion(question), { code: "TERMS_INVALID", message: /it is empty; give a text$/ });
    assert.throws(() => requireQuestion("a\ud800"), { code: "TERMS_INVALID", message: /lone surrogates/ });
    requireQuestion("x".repeat(limits.questionBytes));
    assert.throws(() => requireQuestion("é".repeat(limits.questionBytes / 2 + 1)), { code: "QUESTION_TOO_LONG" });
  });
});
