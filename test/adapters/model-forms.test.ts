import assert from "node:assert/strict";
import fc from "fast-check";
import { after, describe, it } from "node:test";

import { getLlama, LlamaLogLevel, type LlamaGrammar } from "node-llama-cpp";

import { formRules } from "../../agents/adapters/models/forms.ts";
import { grammarOf, partsOf } from "../../agents/adapters/models/grammar.ts";
import { isLoop } from "../../agents/adapters/models/loop.ts";
import { answerSchema } from "../../agents/core/prompts/task-prompt.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { KIND_RULES } from "../../agents/core/request/kinds.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import type { Terms } from "../../agents/core/types.ts";
import type { OutputSchema } from "../../agents/ports/model.ts";
import { llamaModels } from "./fixtures/llama-models.ts";
import { modelRequest, never } from "./model.suite.ts";

const { gguf, load } = await llamaModels();
const llama = await getLlama({
  gpu: false,
  build: "never",
  skipDownload: true,
  maxThreads: 1,
  logLevel: LlamaLogLevel.error,
});
after(async () => await llama.dispose());

const base = defaultTerms({ protocol: 1 });
const numbers = [0, 1, 2, 6, 18].map((decimals): Terms => ({ ...base, kind: "number", decimals }));
const policies = [2, 3, 4, 26].map((options): Terms => ({ ...base, kind: "policies", options }));

/** Tells whether the engine's own parser takes a text by the grammar, and whether a JSON schema's pattern does. */
async function accepts(
  terms: Terms,
  words: readonly string[] = [],
): Promise<(answer: string) => readonly [boolean, boolean]> {
  const form = KIND_RULES[terms.kind].form?.(terms);
  assert.ok(form !== undefined);
  const properties = answerSchema(terms).properties.map((one) => (one.form ? { ...one, words } : one));
  const schema: OutputSchema = { properties };
  const grammar = await llama.createGrammar({ grammar: grammarOf(partsOf(schema)) });
  const { _testText } = grammar as unknown as { _testText(this: LlamaGrammar, text: string): boolean };
  const pattern = new RegExp(formRules(form, words).pattern, "u");
  return (answer) => [_testText.call(grammar, `{"proof":"p","answer":"${answer}"}`), pattern.test(answer)];
}

/** Texts made of a number's and of a set's pieces, of which many are no answers. */
const pieces = fc.array(fc.constantFrom("-", "0", "00", "1", "7", "42", ".", ",", "A", "B", "D", "Z", " ", "e", "+"), {
  maxLength: 8,
});
const digits = fc.array(fc.nat(9), { maxLength: 40 }).map((all) => all.join(""));
const numberText = fc.oneof(
  fc.tuple(fc.constantFrom("", "-"), digits, fc.constantFrom("", "."), digits).map((parts) => parts.join("")),
  pieces.map((parts) => parts.join("")),
);
const policiesText = pieces.map((parts) => parts.join(""));

describe("model: forms of answers", () => {
  for (const terms of [...numbers, ...policies]) {
    const { decimals, options } = terms;
    const label = KIND_RULES[terms.kind].label(terms);
    const bound = 10n ** 38n;
    const scaled = fc.bigInt({ min: -bound + 1n, max: bound - 1n });
    const ofNumber = fc.oneof(scaled, fc.bigInt({ min: -9999n, max: 9999n })).map((value) => {
      const magnitude = (value < 0n ? -value : value).toString().padStart(decimals + 1, "0");
      const at = magnitude.length - decimals;
      return `${value < 0n ? "-" : ""}${magnitude.slice(0, at)}${decimals === 0 ? "" : `.${magnitude.slice(at)}`}`;
    });
    const ofPolicies = fc
      .subarray(
        Array.from({ length: options }, (_, index) => String.fromCharCode(65 + index)),
        { minLength: Math.min(1, options) },
      )
      .map((letters) => letters.join(","));
    const answers = terms.kind === "number" ? ofNumber : ofPolicies;

    it(`property: every canonical answer may be written (${label})`, async () => {
      const takes = await accepts(terms);
      fc.assert(
        fc.property(answers, (text) => {
          const canonical = canonicalAnswer({ terms, question: "" }, text)?.text;
          assert.ok(canonical !== undefined, text);
          assert.deepEqual(takes(canonical), [true, true], canonical);
        }),
      );
    });

    it(`property: every text that may be written is an answer (${label})`, async () => {
      const takes = await accepts(terms);
      let taken = 0;
      fc.assert(
        fc.property(fc.oneof(terms.kind === "number" ? numberText : policiesText, answers), (text) => {
          const [byGrammar, byPattern] = takes(text);
          assert.equal(byGrammar, byPattern, text);
          if (!byGrammar) return;
          taken++;
          assert.notEqual(canonicalAnswer({ terms, question: "" }, text), null, text);
          assert.ok(text.length <= KIND_RULES[terms.kind].maxLength);
        }),
        { numRuns: 300 },
      );
      assert.ok(taken > 50, String(taken));
    });
  }

  it("refuse what is no answer, or an answer in another form", async () => {
    const number = await accepts({ ...base, kind: "number", decimals: 2 });
    for (const text of ["", "-", ".5", "1.", "01", "1.234", "1,000", "+1", "$4", "1e3", "9".repeat(37)])
      assert.deepEqual(number(text), [false, false], text);
    for (const text of ["0", "-0.5", "4.00", "12.3", "9".repeat(36)])
      assert.deepEqual(number(text), [true, true], text);
    const letters = await accepts({ ...base, kind: "policies", options: 3 });
    for (const text of ["", ",", "A,", ",A", "A,A", "B,A", "D", "a", "A, B", "AB"])
      assert.deepEqual(letters(text), [false, false], text);
    for (const text of ["A", "C", "A,C", "A,B,C"]) assert.deepEqual(letters(text), [true, true], text);
  });

  it("take the words that may stand in their place, and nothing between the two", async () => {
    const words = ["unanswerable", "too early"];
    for (const terms of [...numbers, ...policies]) {
      const form = KIND_RULES[terms.kind].form?.(terms);
      const one = terms.kind === "number" ? "7" : "A";
      const takes = await accepts(terms, words);
      for (const text of [one, ...words]) assert.deepEqual(takes(text), [true, true], text);
      for (const text of [
        "",
        "unanswer",
        "too",
        "unanswerable,A",
        `${one}unanswerable`,
        "too early1",
        "unanswerabletoo early",
      ])
        assert.deepEqual(takes(text), [false, false], text);
      const { words: said, maxLength } = formRules(form!, words);
      assert.match(said, /, or unanswerable, or too early$/);
      assert.ok(maxLength >= "unanswerable".length);
    }
  });

  it("hold a model that knows nothing: all its numbers and policies are answers, with a confidence", async () => {
    const model = await load({ path: gguf({ context: 1024 }), sequences: 4, temperature: 1.5 });
    const asked = [...numbers, ...policies].flatMap((terms) => [1, 2, 3].map((seed) => ({ terms, seed })));
    await Promise.all(
      asked.map(async ({ terms, seed }) => {
        const request = modelRequest({ schema: answerSchema(terms), seed: seed * 100, maxTokens: 512 });
        const { fields, confidencePpm } = await model.ask(request, never());
        assert.notEqual(canonicalAnswer({ terms, question: "" }, fields["answer"] ?? ""), null, fields["answer"]);
        assert.ok(confidencePpm !== null && confidencePpm >= 0 && confidencePpm < 1_000_000);
      }),
    );
    await model.close();
  });
});

describe("model: llama, tokens for the answer", () => {
  const wordy: OutputSchema = {
    properties: [
      { name: "proof", maxLength: 512 },
      { name: "answer", form: { kind: "number", decimals: 2 } },
    ],
  };

  it("are kept: a reasoning that would use them up is closed", async () => {
    const model = await load({ path: gguf({ context: 2048, unicode: true }), temperature: 1 });
    for (const maxTokens of [100, 150, 300])
      for (let seed = 0; seed < 4; seed++) {
        const { fields, outputTokens } = await model.ask(modelRequest({ schema: wordy, maxTokens, seed }), never());
        assert.match(fields["answer"] ?? "", /^-?\d+(\.\d{1,2})?$/u);
        assert.ok(outputTokens <= maxTokens, `${outputTokens} of ${maxTokens}`);
      }
    await model.close();
  });

  it("are shared by several free texts by their lengths", async () => {
    const model = await load({ path: gguf({ context: 2048 }), temperature: 1 });
    const schema: OutputSchema = { properties: ["a", "b", "c"].map((name) => ({ name, maxLength: 400 })) };
    const { fields, outputTokens } = await model.ask(
      modelRequest({ schema, maxTokens: 300, confidenceOf: "a" }),
      never(),
    );
    assert.ok(outputTokens <= 300);
    for (const text of Object.values(fields)) assert.ok(text.length < 150, `${text.length}`);
    await model.close();
  });

  it("are not spent on a loop: a text that says the same again and again is closed", () => {
    const loops = [
      "ab ".repeat(20),
      "x".repeat(60),
      `So. ${"27 + 38 = 75, ".repeat(5)}`,
      "The sky is blue. ".repeat(5),
    ];
    const texts = [
      "",
      "x".repeat(59),
      "27 + 38 = 75, ".repeat(4),
      "1. 2. 3. 4. 5. 6. 7. 8. 9. 10. 11. 12. 13. 14. 15. 16. 17.",
    ];
    assert.deepEqual(
      loops.map((text) => isLoop(text)),
      [true, true, true, true],
    );
    assert.deepEqual(
      texts.map((text) => isLoop(text)),
      [false, false, false, false],
    );
    assert.equal(isLoop(`${"x".repeat(60)} end`), false, "it goes on");
  });
});
