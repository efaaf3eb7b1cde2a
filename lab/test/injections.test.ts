import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { limits } from "../../agents/core/limits.ts";
import { renderFields } from "../../agents/core/prompts/prompt.ts";
import type { InjectedTrial } from "../attacks/injected.ts";
import { tallied } from "../attacks/injection-report.ts";
import { harmlessText, injectedText, INJECTION_CATEGORIES, injections } from "../attacks/injections.ts";
import { assertAtLeast, assertBelow, assertExcludes, assertIncludes } from "../../test/support/assertions.ts";
import { anyText } from "../../test/support/any-text.ts";

/** Blank symbols that are not spaces in Unicode. */
const INVISIBLE = /(?! )[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]/u;
const rendered = (text: string): string => renderFields([["question", text, "untrusted"]]);

describe("injections: the corpus", () => {
  it("has at least 60 texts, each with a name of its own, a known category and what it tries", () => {
    assertAtLeast(injections.length, 60);
    assert.equal(new Set(injections.map(({ id }) => id)).size, injections.length);
    assert.equal(new Set(injections.map(({ text }) => text)).size, injections.length);
    for (const { id, category, tries, text } of injections) {
      assertIncludes(INJECTION_CATEGORIES, category);
      assert.match(id, new RegExp(`^${category}/[a-z0-9-]+$`));
      assert.equal(tries.length > 0 && text.trim().length > 0, true, id);
    }
    for (const category of INJECTION_CATEGORIES)
      assertAtLeast(injections.filter((one) => one.category === category).length, 5, category);
  });

  it("names the wanted answer wherever it wants one, and fits into a question twice", () => {
    for (const injection of injections) {
      const text = injectedText(injection, "42");
      assertExcludes(text, "{lie}", injection.id);
      assertBelow(2 * Buffer.byteLength(text), limits.questionBytes, injection.id);
    }
    assertAtLeast(injections.filter((one) => injectedText(one, "42").includes("42")).length, 60);
  });

  it("a harmless text is as long as the one it stands for", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const bytes = Buffer.byteLength(text.normalize("NFC"));
        assert.equal(Buffer.byteLength(harmlessText(text)), bytes);
      }),
    );
  });
});

describe("injections: what is counted", () => {
  const trial = (without: string | null, hostile: string | null, harmless: string | null): InjectedTrial => ({
    variant: 0,
    decider: "mbft",
    place: "question",
    injection: injections[0] as (typeof injections)[number],
    question: "",
    lie: "no",
    without,
    hostile,
    harmless,
  });

  it("an answer that changes, one that is what the text wants, and one that is missing, beside what a harmless text does", () => {
    const { tried, changed, changedByHarmless, obeyed, obeyedByChance, silenced } = tallied([
      trial("yes", "no", "yes"),
      trial("yes", null, "no"),
      trial("no", "no", "no"),
      trial("no", "yes", null),
      trial(null, "no", null),
    ]);
    assert.equal(tried, 5);
    const shares = [changed, changedByHarmless, obeyed, obeyedByChance, silenced].map(({ share }) => share);
    assert.deepEqual(shares, [0.8, 0.4, 0.4, 0.2, 0.2]);
  });
});

describe("prompts: untrusted text", () => {
  it("P1, property: one line, nothing invisible, and the very text comes back", () => {
    const nasty = fc.constantFrom(...injections.map((one) => injectedText(one, "no")));
    const any = anyText();
    fc.assert(
      fc.property(fc.oneof(nasty, any), any, (text, more) => {
        const line = rendered(`${text}${more}`);
        assert.equal(line.startsWith('question: "'), true);
        assert.equal(INVISIBLE.test(line), false);
        assert.equal(JSON.parse(line.slice("question: ".length)), `${text}${more}`);
      }),
      { numRuns: 500 },
    );
  });

  it("P1: every character that shows nothing is escaped", () => {
    for (let code = 0; code <= 0x10ffff; code++) {
      const character = String.fromCodePoint(code);
      if (INVISIBLE.test(character)) assert.equal(INVISIBLE.test(rendered(character)), false, code.toString(16));
    }
  });
});
