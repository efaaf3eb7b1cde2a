import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { grammarOf, partsOf } from "../../agents/adapters/models/grammar.ts";
import type { LlamaModelOptions } from "../../agents/adapters/models/llama-model.ts";
import type { Model, ModelRequest, ModelResponse, OutputSchema } from "../../agents/ports/model.ts";
import { llamaModels, longAnswer, plainTemplate } from "./fixtures/llama-models.ts";
import type { TinyGguf } from "./fixtures/tiny-gguf.ts";
import { failsWith, modelRequest, modelSuite, never, type ModelHarness } from "./model.suite.ts";

const { gguf, load } = await llamaModels();
/** Hundreds of layers make a long answer last for seconds. */
const slowFile = gguf({ layers: 150, context: 1024 });

/** Loads a model that only gives long answers. */
async function slowHarness(): Promise<ModelHarness> {
  const model = await load({ path: slowFile });
  const slow: Model = {
    ...model,
    ask: async (request, signal, onToken) =>
      await model.ask({ ...request, schema: longAnswer, maxTokens: 512 }, signal, onToken),
  };
  return { model: slow, dispose: async () => await model.close() };
}

const kinds: [string, TinyGguf, Partial<LlamaModelOptions>][] = [
  ["llama, user text only, T 0", { prompt: "user-only" }, { sequences: 4 }],
  ["llama, chat template, T 0.8", { prompt: "chat", template: plainTemplate }, { sequences: 2, temperature: 0.8 }],
];
for (const [title, file, options] of kinds) {
  let shared: Promise<Model> | null = null;
  const create = async (): Promise<ModelHarness> => ({
    model: await (shared ??= load({ path: gguf(file), ...options })),
    dispose: async () => {},
  });
  modelSuite(title, create, slowHarness);
}

describe("model: llama, what it answers", () => {
  const choice: OutputSchema = { properties: [{ name: "answer", enum: ["yes", "no"] }] };
  const content = ({ fields, confidencePpm, promptTokens, outputTokens }: ModelResponse): unknown => ({
    fields,
    confidencePpm,
    promptTokens,
    outputTokens,
  });

  it("sends only the user text and one line end, as plain text", async () => {
    const model = await load();
    const user = "<eos> <|im_start|>é";
    const { promptTokens } = await model.ask(modelRequest({ user }), never());
    assert.equal(promptTokens, Buffer.byteLength(user) + 1);
    await model.close();
  });

  it("answers the same again and in another process bit for bit", async () => {
    const path = gguf();
    const one = await load({ path });
    const many = await load({ path, sequences: 4, temperature: 0 });
    const alone: ModelResponse[] = [];
    for (let i = 0; i < 8; i++) alone.push(await one.ask(modelRequest({ user: `question ${i}` }), never()));
    const inTurn: ModelResponse[] = [];
    for (let i = 0; i < alone.length; i++)
      inTurn.push(await many.ask(modelRequest({ user: `question ${i}` }), never()));
    assert.deepEqual(inTurn.map(content), alone.map(content));
    assert.ok(new Set(alone.map((answer) => JSON.stringify(answer.fields))).size > 1);
    assert.equal(one.descriptor, many.descriptor);
    await Promise.all([one.close(), many.close()]);
  });

  // A kernel may round by what shares the batch, so this asks where the model is sure. It asks often, because leaks are
  // rare.
  it("gives the same answer alone and among other calls", async () => {
    const path = join(import.meta.dirname, "../../models/conclave-small.gguf");
    const model = await load({ path, sequences: 8, temperature: 0 });
    const users = [29, 33, 41, 45, 58, 61, 76, 80].map(
      (age) =>
        `task: propose\nkind: boolean\nquestion: "Policy: (1) driver at least 37; (2) only if premium paid. Facts: age ${age}, paid. Is the damage covered?"`,
    );
    const alone: ModelResponse[] = [];
    for (const user of users) alone.push(await model.ask(modelRequest({ user }), never()));
    for (let round = 0; round < 20; round++) {
      const together = await Promise.all(users.map(async (user) => await model.ask(modelRequest({ user }), never())));
      for (const [i, { fields, confidencePpm }] of together.entries()) {
        assert.deepEqual(fields, alone[i]!.fields);
        const sure = alone[i]!.confidencePpm!;
        assert.ok(Math.abs(confidencePpm! - sure) <= 1000, `${confidencePpm}, alone ${sure}`);
      }
    }
    await model.close();
  });

  it("samples by the seed, and states one probability at every temperature", async () => {
    const path = gguf({ seed: 3 });
    const stated = new Map<string, Set<number>>();
    for (const temperature of [0, 0.7, 1]) {
      const model = await load({ path, temperature, sequences: 4 });
      const asks = Array.from(
        { length: 24 },
        async (_, seed) => await model.ask(modelRequest({ schema: choice, seed }), never()),
      );
      for (const { fields, confidencePpm } of await Promise.all(asks)) {
        const seen = stated.get(fields["answer"]!) ?? new Set();
        stated.set(fields["answer"]!, seen.add(confidencePpm!));
      }
      const again = modelRequest({ seed: 5 });
      assert.deepEqual(content(await model.ask(again, never())), content(await model.ask(again, never())));
      await model.close();
    }
    const ranges = [...stated.values()].map((values) => [Math.min(...values), Math.max(...values)] as const);
    assert.deepEqual([...stated.keys()].toSorted(), ["no", "yes"]);
    for (const [low, high] of ranges) assert.ok(high - low <= 100, `${low}..${high}`);
    assert.ok(Math.abs(ranges.reduce((sum, [low]) => sum + low, 0) - 1_000_000) <= 100, JSON.stringify(ranges));
  });

  it("samples where a call wants it, also at temperature 0, and says so", async () => {
    const model = await load({ path: gguf({ seed: 3 }), sequences: 4 });
    const ask = async (seed: number, sampled: Partial<ModelRequest>): Promise<ModelResponse> =>
      await model.ask(modelRequest({ schema: choice, seed, ...sampled }), never());
    const all = async (sampled: Partial<ModelRequest>): Promise<readonly ModelResponse[]> =>
      await Promise.all(Array.from({ length: 24 }, async (_, seed) => await ask(seed, sampled)));
    const [sampled, greedy] = [await all({ isSampled: true }), await all({})];
    const told = (of: readonly ModelResponse[]) => ({
      answers: new Set(of.map(({ fields }) => fields["answer"])).size,
      samplings: [...new Set(of.map(({ origin }) => origin?.sampling))],
    });
    assert.deepEqual(told(sampled), { answers: 2, samplings: ["temperature=0.7 top_k=40"] });
    assert.deepEqual(told(greedy), { answers: 1, samplings: ["temperature=0"] });
    await model.close();
  });

  it("is certain of text that the grammar forces", async () => {
    const model = await load();
    const { confidencePpm } = await model.ask(
      modelRequest({ schema: { properties: [{ name: "answer", enum: ["only"] }] } }),
      never(),
    );
    assert.equal(confidencePpm, 1_000_000);
    // The text is generated, but every place except the last letter allows one token only.
    const texts = ["a", "b"].map((end) => "only".repeat(5) + end);
    const { confidencePpm: either } = await model.ask(
      modelRequest({ schema: { properties: [{ name: "answer", enum: texts }] } }),
      never(),
    );
    assert.ok(either! >= 500_000 && either! < 1_000_000, String(either));
    await model.close();
  });

  it("names what made the answer: model, engine, sampling and seed", async () => {
    const model = await load({ temperature: 0.5 });
    const askedMs = performance.now();
    const { origin, firstTokenMs, durationMs } = await model.ask(modelRequest({ seed: -1 }), never());
    assert.equal(origin?.model, model.descriptor);
    assert.match(origin.engine, /^node-llama-cpp@\d+\.\d+\.\d+ llama\.cpp@\S+ cpu$/u);
    assert.deepEqual([origin.sampling, origin.seed], ["temperature=0.5 top_k=40", 2 ** 32 - 1]);
    const allMs = Math.ceil(performance.now() - askedMs);
    assert.ok(firstTokenMs > 0 && firstTokenMs <= allMs && durationMs <= allMs, `${firstTokenMs}, ${durationMs} ms`);
    await model.close();
  });

  it("shows a character of several tokens only once it is whole", async () => {
    const model = await load({ path: gguf({ unicode: true }) });
    const parts: string[] = [];
    const texts = ["a", "b"].map((end) => `\u{1f600} \u00e9\u4e2d${end}`);
    const schema = { properties: [{ name: "answer", enum: texts }] };
    const { fields, outputTokens } = await model.ask(modelRequest({ schema }), never(), (text) => parts.push(text));
    assert.equal(JSON.stringify(fields), parts.join(""));
    assert.ok(
      parts.every((part) => part.isWellFormed() && !part.includes("\ufffd")),
      JSON.stringify(parts),
    );
    assert.ok(parts.includes("\u{1f600}") && parts.length < outputTokens);
    await model.close();
  });

  it("says when the answer or the prompt does not fit", async () => {
    const model = await load({ path: gguf({ context: 512 }) });
    await assert.rejects(
      model.ask(modelRequest({ maxTokens: 20 }), never()),
      failsWith("MODEL_FAILED", "truncated", /after 20 tokens/u),
    );
    const { outputTokens } = await model.ask(modelRequest({ schema: choice }), never());
    await model.ask(modelRequest({ schema: choice, maxTokens: outputTokens }), never());
    await assert.rejects(
      model.ask(modelRequest({ schema: choice, maxTokens: outputTokens - 1 }), never()),
      failsWith("MODEL_FAILED", "truncated"),
    );
    await assert.rejects(
      model.ask(modelRequest({ user: "x".repeat(600) }), never()),
      failsWith("MODEL_FAILED", "prompt-too-long", /601 tokens.*512/u),
    );
    await assert.rejects(
      model.ask(modelRequest({ user: "x".repeat(9999) }), never()),
      failsWith("MODEL_FAILED", "prompt-too-long", /characters/u),
    );
    assert.ok((await model.ask(modelRequest(), never())).fields["answer"]);
    await model.close();
  });

  it("has a grammar without spaces, in the order of the schema", () => {
    const grammar = grammarOf(partsOf({ properties: [{ name: "b", enum: ['x"\\'] }, { name: "a" }] }));
    assert.equal(
      grammar.split("\n")[0],
      String.raw`root ::= ("{\"b\":\"") ("x\\\"\\\\\"") (",\"a\":\"") character* "\"" ("}")`,
    );
  });
});
