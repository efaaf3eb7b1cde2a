import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { createMemoryModel, type Script } from "../../agents/adapters/memory/model.ts";
import { modelConfigSchema } from "../../agents/adapters/models/config.ts";
import { createModel } from "../../agents/adapters/models/create-model.ts";
import { confidenceOf, parseOutput, valueRange } from "../../agents/adapters/models/output.ts";
import type { ConclaveError } from "../../agents/core/errors.ts";
import type { OutputSchema } from "../../agents/core/prompts/prompt.ts";
import { completion, minimalAnswer, reply, startOpenAiServer } from "./fixtures/openai-server.ts";
import { answerSchema, failsWith, modelRequest, modelSuite, never } from "./model.suite.ts";

const minimal: Script = ({ schema }) =>
  Object.fromEntries(schema.properties.map((property) => [property.name, property.enum?.[0] ?? ""]));

modelSuite(
  "memory",
  async () => ({
    model: createMemoryModel(minimal, {
      confidence: ({ confidenceOf: of }, fields) => (of in fields ? 600_000 : null),
    }),
    dispose: async () => {},
  }),
  async () => {
    const model = createMemoryModel(async () => await new Promise(() => {}));
    return { model, dispose: async () => {} };
  },
);

describe("model: memory", () => {
  it("checks the script's answer like any other", async () => {
    const ask = async (fields: Record<string, string>): Promise<unknown> =>
      await createMemoryModel(() => fields).ask(modelRequest(), never());
    await assert.rejects(
      ask({ proof: "", answer: "maybe" }),
      failsWith("MODEL_FAILED", "unparsable", /answer is not one of/u),
    );
    await assert.rejects(
      ask({ proof: "x".repeat(97), answer: "yes" }),
      failsWith("MODEL_FAILED", "unparsable", /more than 96/u),
    );
    await assert.rejects(ask({ answer: "yes" }), failsWith("MODEL_FAILED", "unparsable", /proof is missing/u));
  });
});

describe("model: output", () => {
  it("refuses everything that is not exactly the schema", () => {
    const reasons: [string, RegExp][] = [
      ["", /not JSON/u],
      ['{"proof":"","answer":"yes"', /not JSON/u],
      ['["yes"]', /not a JSON object/u],
      ["null", /not a JSON object/u],
      ['{"proof":1,"answer":"yes"}', /proof is not a string/u],
      ['{"proof":"","answer":"yes","more":""}', /nobody asked/u],
      ['{"proof":"","answer":"YES"}', /not one of/u],
      [String.raw`{"proof":"\ud800","answer":"yes"}`, /not valid Unicode/u],
      ['{"proof":"","__proto__":"yes"}', /answer is missing/u],
    ];
    for (const [text, reason] of reasons) {
      const result = parseOutput(text, answerSchema);
      assert.ok("reason" in result && reason.test(result.reason), `${text}: ${JSON.stringify(result)}`);
    }
    // 24 were asked for: servers that know no lengths go over it.
    assert.deepEqual(parseOutput(`{"proof":"${"\u{1f600}".repeat(96)}","answer":"no"}`, answerSchema), {
      fields: { proof: "\u{1f600}".repeat(96), answer: "no" },
    });
  });

  it("finds a value also behind quotes and look-alikes", () => {
    const text = String.raw`{"proof":"\",\"answer\":\"no\"","answer":"yes"}`;
    const range = valueRange(text, answerSchema, "answer")!;
    assert.equal(text.slice(range.start, range.end), 'yes"');
    const spaced = '{ "proof" : "x" ,\n "answer" : "no" }';
    const other = valueRange(spaced, answerSchema, "answer")!;
    assert.equal(spaced.slice(other.start, other.end), 'no"');
    assert.equal(valueRange(text, answerSchema, "absent"), null);
    assert.equal(valueRange("not JSON", answerSchema, "answer"), null);
  });

  it("multiplies the probabilities of the tokens that touch the value", () => {
    const text = '{"proof":"p","answer":"no"}';
    const at = text.indexOf('no"');
    const spans = [
      { start: 0, end: at - 1, probability: 0.1 },
      { start: at - 1, end: at + 1, probability: 0.5 },
      { start: at + 1, end: at + 3, probability: 0.5 },
      { start: at + 3, end: text.length, probability: 0.1 },
    ];
    assert.equal(confidenceOf(spans, text, answerSchema, "answer"), 250_000);
    assert.equal(confidenceOf(spans.slice(0, 1), text, answerSchema, "answer"), null);
    assert.equal(confidenceOf(spans, text, answerSchema, "absent"), null);
    const unknown = [{ start: 0, end: text.length, probability: Number.NaN }];
    assert.equal(confidenceOf(unknown, text, answerSchema, "answer"), null);
    const impossible = [{ start: 0, end: text.length, probability: 0 }];
    assert.equal(confidenceOf(impossible, text, answerSchema, "answer"), 0);
  });

  it("CF2: the confidence of prose does not fall with its length", () => {
    const schema: OutputSchema = { properties: [{ name: "answer", maxLength: 2000, isProse: true }] };
    const confidence = (words: number, probability: number): number | null => {
      const text = JSON.stringify({ answer: Array<string>(words).fill("word").join(" ") });
      const start = text.indexOf("word");
      const spans = Array.from({ length: words }, (_, index) => ({
        start: start + 5 * index,
        end: start + 5 * index + 5,
        probability,
      }));
      return confidenceOf(spans, text, schema, "answer");
    };
    for (const words of [1, 2, 40, 390]) {
      assert.equal(confidence(words, 0.95), 950_000, `${words} words`);
      assert.equal(confidence(words, 0.6), 600_000, `${words} words`);
    }
  });
});

describe("model: config", () => {
  it("fills in the defaults and refuses what it does not know", () => {
    assert.deepEqual(modelConfigSchema.parse({ kind: "llama", path: "m.gguf" }), {
      kind: "llama",
      path: "m.gguf",
      sequences: 4,
      waiting: 256,
      threads: 1,
      gpu: "auto",
      temperature: 0,
      tokensPerRequest: 1_000_000,
    });
    const openai = { kind: "openai", url: "http://127.0.0.1:8000/v1", model: "m" };
    assert.equal(modelConfigSchema.parse(openai).kind, "openai");
    const bad = [
      { kind: "other" },
      { kind: "llama" },
      { kind: "llama", path: "m", sequences: 0 },
      { kind: "llama", path: "m", gpu: true },
      { kind: "llama", path: "m", sha256: "ab" },
      { kind: "llama", path: "m", tokensPerRequest: 999 },
      { ...openai, tokensPerRequest: 1_000.5 },
      { ...openai, apiKey: "secret" },
      { ...openai, url: "ftp://x" },
      { ...openai, url: "http://user:secret@x/v1" },
      { ...openai, url: "http://x/v1?api_key=secret" },
      { ...openai, url: "http://x/v1#part" },
      { ...openai, apiKeyEnv: "A", apiKeyFile: "b" },
      { ...openai, apiKeyEnv: "not a name" },
      { ...openai, provider: "nobody" },
      { ...openai, provider: "openrouter" },
      { ...openai, fallbacks: [{ url: "http://x/v1" }] },
      { ...openai, fallbacks: [{ url: "http://x/v1", model: "m", provider: "openrouter" }] },
    ];
    for (const config of bad) assert.equal(modelConfigSchema.safeParse(config).success, false, JSON.stringify(config));
  });

  it("CF7: refuses a calibration table together with a fallback of another provider or model", () => {
    const config = {
      kind: "openai",
      url: "http://127.0.0.1:8000/v1",
      model: "m",
      provider: "vllm",
      calibration: "t.json",
    };
    const fallback = { url: "http://127.0.0.1:8001/v1", model: "m", provider: "vllm" };
    const parsed = (one: object, first: object = config): ReturnType<typeof modelConfigSchema.safeParse> =>
      modelConfigSchema.safeParse({ ...first, fallbacks: [fallback, { ...fallback, ...one }] });
    assert.ok(parsed({ url: "http://127.0.0.1:8002/v1" }).success);
    for (const [field, value] of [
      ["model", "other/m"],
      ["provider", "ollama"],
    ] as const) {
      const [issue] = parsed({ [field]: value }).error?.issues ?? [];
      assert.equal(issue?.path.join("."), `fallbacks.1.${field}`);
      for (const word of [value, config[field], "model.calibration"]) assert.ok(issue?.message.includes(word), word);
      assert.ok(parsed({ [field]: value }, { ...config, calibration: undefined }).success);
    }
  });

  it("makes the model that the config names, with the key from file or environment", async () => {
    const directory = await mkdtemp(join(tmpdir(), "conclave-model-"));
    const server = await startOpenAiServer((seen, response) =>
      reply(response, 200, completion(JSON.stringify(minimalAnswer(seen)))),
    );
    try {
      const apiKeyFile = join(directory, "key");
      await writeFile(apiKeyFile, "from-file\n");
      const base = { kind: "openai", url: server.url, model: "m" } as const;
      for (const source of [{ apiKeyFile }, { apiKeyEnv: "KEY" }, {}]) {
        const model = await createModel(modelConfigSchema.parse({ ...base, ...source }), { KEY: "from-env" });
        await model.ask(modelRequest(), never());
        await model.close();
      }
      assert.deepEqual(
        server.seen.map(({ authorization }) => authorization),
        ["Bearer from-file", "Bearer from-env", undefined],
      );
      const missing = [{ apiKeyFile: join(directory, "absent") }, { apiKeyEnv: "ABSENT" }];
      for (const source of missing)
        await assert.rejects(
          createModel(modelConfigSchema.parse({ ...base, ...source }), {}),
          failsWith("CONFIG_MISSING"),
        );
      await writeFile(apiKeyFile, "two\nlines");
      await assert.rejects(createModel(modelConfigSchema.parse({ ...base, apiKeyFile })), (error: ConclaveError) => {
        assert.ok(!error.message.includes("two"));
        return error.code === "CONFIG_INVALID";
      });
      const absent = createModel(
        modelConfigSchema.parse({ kind: "llama", path: join(directory, "absent.gguf"), gpu: false }),
      );
      await assert.rejects(absent, failsWith("MODEL_FILE_MISSING", undefined, /absent\.gguf.*ENOENT.*config/u));
    } finally {
      await server.close();
      await rm(directory, { recursive: true });
    }
  });
});
