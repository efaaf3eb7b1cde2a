import { expect } from "chai";
import fc from "fast-check";
import { describe, it } from "node:test";
import { limits } from "../../agents/core/limits.ts";
import { renderFields } from "../../agents/core/prompts/prompt.ts";
import type { InjectedTrial } from "../attacks/injected.ts";
import { tallied } from "../attacks/injection-report.ts";
import { harmlessText, injectedText, INJECTION_CATEGORIES, injections } from "../attacks/injections.ts";

/** Blank symbols are none of Unicode's spaces. */
const INVISIBLE = /(?! )[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]/u;
const rendered = (text: string): string => renderFields([["question", text, "untrusted"]]);

describe("injections: the corpus", () => {
  it("has at least 60 texts, each with a name of its own, a known category and what it tries", () => {
    expect(injections.length).to.be.at.least(60);
    expect(new Set(injections.map(({ id }) => id)).size).to.equal(injections.length);
    expect(new Set(injections.map(({ text }) => text)).size).to.equal(injections.length);
    for (const { id, category, tries, text } of injections) {
      expect(INJECTION_CATEGORIES).to.include(category);
      expect(id).to.match(new RegExp(`^${category}/[a-z0-9-]+$`));
      expect(tries.length > 0 && text.trim().length > 0, id).to.equal(true);
    }
    for (const category of INJECTION_CATEGORIES)
      expect(injections.filter((one) => one.category === category).length, category).to.be.at.least(5);
  });

  it("names the wanted answer wherever it wants one, and fits into a question twice", () => {
    for (const injection of injections) {
      const text = injectedText(injection, "42");
      expect(text, injection.id).not.to.include("{lie}");
      expect(2 * Buffer.byteLength(text), injection.id).to.be.below(limits.questionBytes);
    }
    expect(injections.filter((one) => injectedText(one, "42").includes("42")).length).to.be.at.least(60);
  });

  it("a harmless text is as long as the one it stands for", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const bytes = Buffer.byteLength(text.normalize("NFC"));
        expect(Buffer.byteLength(harmlessText(text))).to.equal(bytes);
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
    expect(tried).to.equal(5);
    const shares = [changed, changedByHarmless, obeyed, obeyedByChance, silenced].map(({ share }) => share);
    expect(shares).to.deep.equal([0.8, 0.4, 0.4, 0.2, 0.2]);
  });
});

describe("prompts: untrusted text", () => {
  it("P1, property: one line, nothing invisible, and the very text comes back", () => {
    const nasty = fc.constantFrom(...injections.map((one) => injectedText(one, "no")));
    const any = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(fc.oneof(nasty, any), any, (text, more) => {
        const line = rendered(`${text}${more}`);
        expect(line.startsWith('question: "')).to.equal(true);
        expect(INVISIBLE.test(line)).to.equal(false);
        expect(JSON.parse(line.slice("question: ".length))).to.equal(`${text}${more}`);
      }),
      { numRuns: 500 },
    );
  });

  it("P1: every character that shows nothing is escaped", () => {
    for (let code = 0; code <= 0x10ffff; code++) {
      const character = String.fromCodePoint(code);
      if (INVISIBLE.test(character)) expect(INVISIBLE.test(rendered(character)), code.toString(16)).to.equal(false);
    }
  });
});
