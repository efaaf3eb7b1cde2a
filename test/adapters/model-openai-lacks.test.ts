import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createEndpoints } from "../../agents/adapters/models/openai-endpoints.ts";
import { against, answers, good } from "./fixtures/openai-served.ts";
import { reply, startOpenAiServer, stream, type Handler, type Seen } from "./fixtures/openai-server.ts";
import { failsWith, modelRequest, never } from "./model.suite.ts";

describe("model: openai, servers that lack a feature", () => {
  const refuses =
    (message: string): Handler =>
    (_, response) =>
      reply(response, 400, JSON.stringify({ error: { message } }));
  against(
    "fail with `unsupported` if they know no JSON schema",
    [refuses("response_format of type json_schema is not supported")],
    async (model, [seen]) => {
      await assert.rejects(
        model.ask(modelRequest(), never()),
        failsWith("MODEL_FAILED", "unsupported", /json_schema is not supported/u),
      );
      assert.equal(seen?.length, 1);
    },
  );
  against(
    "are asked again without the seed and stream options that they refuse",
    [
      ({ body }, response) => {
        if (body.stream_options !== undefined)
          return refuses("unknown field stream_options")({ body } as Seen, response, 1);
        if (body.seed !== undefined) return refuses("seed is not allowed")({ body } as Seen, response, 1);
        return stream(response, good);
      },
    ],
    async (model, [seen]) => {
      for (let i = 0; i < 2; i++) {
        const { origin } = await model.ask(modelRequest(), never());
        assert.equal(origin?.seed, null, "PH12: a seed that was not sent is not signed");
      }
      assert.equal(seen?.length, 4);
    },
  );
  against(
    "are asked for a sample where a call wants it, also at temperature 0, and the sampling says so",
    [({ body: _ }, response) => stream(response, good)],
    async (model, [seen]) => {
      const origins = [
        (await model.ask(modelRequest({ isSampled: true }), never())).origin,
        (await model.ask(modelRequest(), never())).origin,
      ];
      assert.deepEqual(
        origins.map((origin) => origin?.sampling),
        ["temperature=0.7", "temperature=0"],
      );
      assert.deepEqual(
        seen?.map(({ body }) => body.temperature),
        [0.7, 0],
      );
    },
  );
  against(
    "are asked in the words of OpenAI's own models that think, and the sampling says what was not sent",
    [
      ({ body }, response) => {
        if (body.max_completion_tokens === undefined)
          return refuses("Unsupported parameter: 'max_tokens' is not supported with this model.")(
            { body } as Seen,
            response,
            1,
          );
        if (body.temperature !== undefined)
          return refuses("Unsupported value: 'temperature' does not support 0 with this model.")(
            { body } as Seen,
            response,
            1,
          );
        return stream(response, good);
      },
    ],
    async (model, [seen]) => {
      for (let i = 0; i < 2; i++) {
        const { origin } = await model.ask(modelRequest({ maxTokens: 200 }), never());
        assert.equal(origin?.sampling, "temperature=default");
      }
      assert.deepEqual(
        seen?.map(({ body }) => [body.max_tokens, body.max_completion_tokens, body.temperature]),
        [
          [200, undefined, 0],
          [undefined, 200, 0],
          [undefined, 200, undefined],
          [undefined, 200, undefined],
        ],
      );
    },
  );
  const echoes =
    (wrap: (prompt: string) => unknown): Handler =>
    ({ body }, response, attempt) =>
      attempt === 1
        ? reply(response, 422, JSON.stringify(wrap(body.messages.map(({ content }) => content).join("\n"))))
        : stream(response, good);
  const naming = modelRequest({
    user: 'question: "Which logprobs has this seed, and what is stream_options, maxLength?"',
  });
  const wraps: readonly (readonly [string, (prompt: string) => unknown])[] = [
    ["a message", (prompt) => ({ error: { message: `cannot read ${prompt}` } })],
    ["the start of it", (prompt) => ({ error: { message: `cannot read ${prompt.slice(0, 120)}`, param: null } })],
    ["FastAPI's input", (prompt) => ({ detail: [{ loc: ["body", "messages"], msg: "odd", input: prompt }] })],
    ["a text that is no JSON object", (prompt) => prompt],
  ];
  for (const [title, wrap] of wraps)
    against(
      `get a field again that only an echo of the prompt names: ${title}`,
      [echoes(wrap)],
      async (model, [seen]) => {
        await model.ask(naming, never()).catch(() => null);
        const before = seen?.length ?? 0;
        const { confidencePpm, origin } = await model.ask(modelRequest(), never());
        assert.equal(seen?.length, before + 1);
        assert.deepEqual([seen.at(-1)?.body.logprobs, seen.at(-1)?.body.seed, origin?.seed], [true, 7, 7]);
        assert.notEqual(confidencePpm, null);
      },
    );
  against(
    "name nothing by an echo of the whole request",
    [({ body }, response) => reply(response, 422, JSON.stringify({ message: `bad: ${JSON.stringify(body)}` }))],
    async (model, [seen]) => {
      await assert.rejects(
        model.ask(modelRequest({ user: "x".repeat(400) }), never()),
        failsWith("MODEL_FAILED", "refused"),
      );
      assert.equal(seen?.length, 1);
    },
  );
  against(
    "do not pass for servers without schemas when they only quote a question about schemas",
    [(_, response) => reply(response, 400, JSON.stringify({ error: { message: 'odd: "Is this grammar?"' } })), answers],
    async (model, seen) => {
      const asked = model.ask(modelRequest({ user: "Is this grammar?" }), never());
      await assert.rejects(asked, failsWith("MODEL_FAILED", "refused"));
      assert.deepEqual(
        seen.map(({ length }) => length),
        [1, 0],
      );
    },
  );
  const noSeed = (error: object): Handler => {
    return ({ body }, response) =>
      body.seed === undefined ? stream(response, good) : reply(response, 400, JSON.stringify(error));
  };
  for (const [title, error] of [
    ["param", { error: { message: "not supported", param: "seed" } }],
    ["loc", { detail: [{ loc: ["body", "seed"], msg: "extra field" }] }],
  ] as const)
    against(
      `are believed about what their ${title} names, whatever the prompt says`,
      [noSeed(error)],
      async (model, [seen]) => {
        await model.ask(naming, never());
        await model.ask(naming, never());
        assert.equal(seen?.length, 3);
      },
    );
  against(
    "lose a field for one call only if both their message and the prompt name it",
    [noSeed({ error: "no seed" })],
    async (model, [seen]) => {
      for (const expected of [2, 4]) {
        assert.equal((await model.ask(naming, never())).origin?.seed, null);
        assert.equal(seen?.length, expected);
      }
    },
  );

  it("are tried again after an hour with the field that they lacked", async () => {
    const { url, seen, close } = await startOpenAiServer(noSeed({ error: "no seed" }));
    const server = {
      provider: "openai",
      url: new URL("chat/completions", url),
      model: "m",
      apiKey: undefined,
    } as const;
    let nowMs = 0;
    const endpoints = createEndpoints(
      [{ ...server, temperature: 0, thinkingTokens: 0, descriptor: "openai:m" }],
      () => nowMs,
    );
    const counts: number[] = [];
    for (const at of [0, 3_599_999, 3_600_000, 3_600_001]) {
      nowMs = at;
      await endpoints.ask(modelRequest(), never(), () => () => {});
      counts.push(seen.length);
    }
    assert.deepEqual(counts, [2, 3, 5, 6]);
    await close();
  });

  const overflows = [
    "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens",
    "the request exceeds the available context size, try increasing it",
    `litellm.BadRequestError: ${"at the provider ".repeat(30)}: prompt is too long`,
  ];
  for (const message of overflows)
    against(`fail with prompt-too-long when they say: ${message.slice(0, 24)}`, [refuses(message)], async (model) => {
      // P9: the error still counts when the prompt, perhaps a peer's text, contains the same words.
      for (const user of ["question", "question: What is the maximum context length, and context size?"])
        await assert.rejects(model.ask(modelRequest({ user }), never()), failsWith("MODEL_FAILED", "prompt-too-long"));
    });
  const cutting: Handler = (_, response) =>
    reply(
      response,
      200,
      JSON.stringify({
        choices: [{ finish_reason: "stop", message: { content: good } }],
        usage: { prompt_tokens: 2050, completion_tokens: 9 },
      }),
    );
  const long = modelRequest({ user: "word ".repeat(4000) });
  against(
    "fail with prompt-too-long if they cut a prompt silently",
    [cutting],
    async (model) => {
      await assert.rejects(model.ask(long, never()), failsWith("MODEL_FAILED", "prompt-too-long", /only 2050 tokens/u));
      assert.ok(await model.ask(modelRequest({ user: "word ".repeat(3000) }), never()));
    },
    {},
    "ollama",
  );
  against(
    "are trusted with a low token count if they are known not to cut",
    [cutting],
    async (model) => void (await model.ask(long, never())),
    {},
    "vllm",
  );
  against(
    "are avoided: OpenRouter is told to use no host that ignores the schema",
    [answers],
    async (model, [seen]) => {
      await model.ask(modelRequest(), never());
      assert.deepEqual(seen?.[0]?.body.provider, { require_parameters: true });
    },
    {},
    "openrouter",
  );
});
