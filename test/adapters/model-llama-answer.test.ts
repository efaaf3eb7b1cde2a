import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { getLlama, LlamaGrammarEvaluationState, LlamaLogLevel } from "node-llama-cpp";

import { AnswerCursor } from "../../agents/adapters/models/answer-cursor.ts";
import { grammarOf, partsOf } from "../../agents/adapters/models/grammar.ts";
import { Written } from "../../agents/adapters/models/written.ts";
import type { OutputSchema } from "../../agents/ports/model.ts";
import { llamaModels } from "./fixtures/llama-models.ts";
import { modelRequest, never } from "./model.suite.ts";

const { load } = await llamaModels();
const path = join(import.meta.dirname, "../../models/conclave-small.gguf");
const llama = await getLlama({
  gpu: false,
  build: "never",
  skipDownload: true,
  maxThreads: 1,
  logLevel: LlamaLogLevel.error,
});
const model = await llama.loadModel({ modelPath: path });
after(async () => await llama.dispose());

const schema: OutputSchema = {
  properties: [
    { name: "proof", maxLength: 512 },
    { name: "answer", enum: ["yes", "no"] },
  ],
};
const ofThree: OutputSchema = {
  properties: [
    { name: "pick", enum: ["A", "AB", "C"] },
    { name: "why", maxLength: 9 },
    { name: "sure", enum: ["é"] },
  ],
};

describe("model: llama, text that the schema forces", () => {
  const at = (given: OutputSchema, text: string): AnswerCursor => {
    const cursor = new AnswerCursor(partsOf(given));
    cursor.take(text);
    return cursor;
  };

  it("is the text up to the next choice", () => {
    const cases: [OutputSchema, string, string][] = [
      [schema, "", '{"proof":"'],
      [schema, '{"pro', 'of":"'],
      [schema, '{"proof":"', ""],
      [schema, '{"proof":"1+1', ""],
      [schema, String.raw`{"proof":"a \"`, ""],
      [schema, String.raw`{"proof":"a \\"`, ',"answer":"'],
      [schema, '{"proof":"","ans', 'wer":"'],
      [schema, '{"proof":"","answer":"', ""],
      [ofThree, '{"pick":"A', ""],
      [ofThree, '{"pick":"A"', ',"why":"'],
      [ofThree, '{"pick":"AB', '","why":"'],
      [ofThree, '{"pick":"C', '","why":"'],
    ];
    for (const [given, text, next] of cases)
      assert.deepEqual(at(given, text).forced(), { text: next, isRest: false }, text);
  });

  it("is the rest once the last choice is made", () => {
    assert.deepEqual(at(schema, '{"proof":"","answer":"y').forced(), { text: 'es"}', isRest: true });
    assert.deepEqual(at(ofThree, '{"pick":"C","why":"\\""').forced(), { text: ',"sure":"é"}', isRest: true });
    const whole = '{"proof":"","answer":"no"}';
    assert.deepEqual([at(schema, whole).ended(), at(schema, whole.slice(0, -1)).ended()], [true, false]);
  });

  it("returns the grammar of the rest of the answer", () => {
    const rest = (text: string): string => grammarOf(at(schema, text).rest()).split("\n")[0]!;
    const end = String.raw`(",\"answer\":\"") ("yes\"" | "no\"") ("}")`;
    assert.equal(rest(""), String.raw`root ::= ("{\"proof\":\"") character{0,512} "\"" ${end}`);
    assert.equal(rest('{"proof"'), String.raw`root ::= (":\"") character{0,512} "\"" ${end}`);
    assert.equal(rest('{"proof":"'), String.raw`root ::= character{0,512} "\"" ${end}`);
    assert.equal(rest('{"proof":""'), String.raw`root ::= ${end}`);
    assert.equal(rest('{"proof":"","answer":"n'), String.raw`root ::= ("o\"") ("}")`);
    assert.throws(() => rest('{"proof":"1'));
  });

  it("ends a free text that is closed, also within an escape", () => {
    for (const [text, next] of [
      ['{"proof":"', '","answer":"'],
      ['{"proof":"1+1', '","answer":"'],
      ['{"proof":"a \\\\', '","answer":"'],
      ['{"proof":"a \\', 'n","answer":"'],
    ] as const) {
      const cursor = at(schema, text);
      cursor.closeText();
      assert.deepEqual(cursor.forced(), { text: next, isRest: false }, text);
      cursor.take(`${next}no`);
      assert.deepEqual(cursor.forced(), { text: '"}', isRest: true });
      assert.ok(JSON.parse(`${text}${next}no"}`));
    }
    assert.throws(() => at(schema, '{"proof":"","answer":"').closeText());
  });

  it("is not generated, except the last token before a choice", () => {
    const given = (text: string): readonly string[] => {
      const written = new Written(model, schema, [], 100, () => {});
      for (const token of model.tokenize(text)) written.add(token, 1);
      return written.given().map((token) => model.detokenize([token]));
    };
    assert.deepEqual(given(""), ['{"', "proof"]);
    assert.deepEqual(given('{"proof'), []);
    assert.deepEqual(given('{"proof":"1+1=2'), []);
    assert.deepEqual(given('{"proof":"1+1=2","'), ["answer"]);
    assert.deepEqual(given('{"proof":"1+1=2","answer":"'), []);
    assert.deepEqual(given('{"proof":"1+1=2","answer":"yes'), ['"}']);
  });

  it("gives the same answer as generating every token under the whole grammar", async () => {
    const host = await load({ path, contextSize: 1024 });
    const context = await model.createContext({ contextSize: 1024, flashAttention: false, threads: 1 });
    const sequence = context.getSequence();
    const grammar = await llama.createGrammar({ grammar: grammarOf(partsOf(schema)) });
    for (const age of [29, 33, 41, 58]) {
      const user = `task: propose\nkind: boolean\nquestion: "Policy: (1) driver at least 37; (2) only if premium paid. Facts: age ${age}, paid. Is the damage covered?"`;
      const { fields, outputTokens, confidencePpm } = await host.ask(modelRequest({ user, schema }), never());
      await sequence.clearHistory();
      const tokens = [];
      let certainty = 1;
      for await (const { token, confidence } of sequence.evaluateWithMetadata(
        model.tokenize(`${user}\n`),
        { confidence: true },
        { temperature: 0, grammarEvaluationState: new LlamaGrammarEvaluationState({ model, grammar }) },
      )) {
        tokens.push(token);
        if (/^(?:yes|no)/u.test(model.detokenize([token]))) certainty = confidence;
      }
      assert.deepEqual([fields, outputTokens], [JSON.parse(model.detokenize(tokens)), tokens.length]);
      assert.ok(Math.abs(confidencePpm! - certainty * 1_000_000) <= 20, `${confidencePpm} ${certainty}`);
    }
    await Promise.all([host.close(), context.dispose()]);
  });
});
