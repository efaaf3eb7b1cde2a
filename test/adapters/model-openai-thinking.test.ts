import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AnswerText } from "../../agents/adapters/models/answer-text.ts";
import { createOpenAiModel } from "../../agents/adapters/models/openai-model.ts";
import { parametersIn } from "../../agents/adapters/models/thinking-budget.ts";
import { LONGEST_MARK, THOUGHT_TAGS } from "../../agents/adapters/models/thought-marks.ts";
import type { ModelResponse } from "../../agents/ports/model.ts";
import { createRequestBudget } from "../../agents/node/seat/token-budget.ts";
import { against, good } from "./fixtures/openai-served.ts";
import { reply, startOpenAiServer, stream, type Handler, type Seen } from "./fixtures/openai-server.ts";
import { SECRET, thinker } from "./fixtures/openai-thinker.ts";
import { assertBelow } from "../support/assertions.ts";
import { processorMs } from "../support/processor-time.ts";
import { failsWith, modelRequest, never } from "./model.suite.ts";

const places = ["reasoning_content", "reasoning", "content"] as const;
const tokensAsked = (seen: readonly Seen[] | undefined): readonly number[] =>
  (seen ?? []).map(({ body }) => body.max_tokens);
/** The answer is valid and complete, and shows no thought. */
function isAnswer({ fields }: ModelResponse): void {
  assert.deepEqual(fields, { proof: "", answer: "yes" });
}

describe("model: openai, thoughts", () => {
  for (const place of places)
    against(
      `of 3,000 tokens before the answer, in ${place}: the answer is valid, the budget is kept, and nobody sees them`,
      [thinker({ tokens: 3000, place })],
      async (model, [seen]) => {
        const request = createRequestBudget(20_000);
        const budget = request.open();
        let shown = "";
        const response = await model.ask(modelRequest({ budget }), never(), (text) => (shown += text));
        isAnswer(response);
        assert.deepEqual(JSON.parse(shown), response.fields);
        assert.ok(!JSON.stringify(response).includes(SECRET));
        assert.ok(response.outputTokens > 3000 && response.outputTokens <= 3000 + 200, String(response.outputTokens));
        assert.equal(budget.spent(), response.promptTokens + response.outputTokens);
        assert.deepEqual(tokensAsked(seen), [200 + 4000]);
        assert.equal(response.origin?.sampling, "temperature=0 thinking=4000");
      },
      { thinkingTokens: 4000 },
    );

  for (const provider of ["openai", "vllm", "llama.cpp"] as const)
    against(
      `that come unasked get the usual budget from then on (${provider}, which hears nothing of thinking before)`,
      [thinker({ tokens: 3000, place: "reasoning_content" })],
      async (model, [seen]) => {
        const budget = createRequestBudget(20_000).open();
        const first = await model.ask(modelRequest({ budget }), never());
        isAnswer(first);
        assert.equal(budget.spent(), first.promptTokens + first.outputTokens, "both tries count");
        isAnswer(await model.ask(modelRequest(), never()));
        assert.deepEqual(tokensAsked(seen), [200, 200 + 4096, 200 + 4096]);
        const told = seen?.map(({ body }) => body.chat_template_kwargs?.enable_thinking);
        assert.deepEqual(told, [undefined, true, true]);
      },
      {},
      provider,
    );
  against(
    "are turned off where the config gives them no tokens, once the server has shown that it thinks",
    [thinker({ tokens: 3000, place: "reasoning_content" })],
    async (model, [seen]) => {
      isAnswer(await model.ask(modelRequest(), never()));
      isAnswer(await model.ask(modelRequest(), never()));
      assert.deepEqual(tokensAsked(seen), [200, 200, 200]);
      const off = { enable_thinking: false };
      assert.deepEqual(
        seen?.map(({ body }) => body.chat_template_kwargs),
        [undefined, off, off],
      );
    },
    { thinkingTokens: 0 },
  );
  for (const place of places)
    against(
      `that never stop are turned off in the same call, in ${place}`,
      [thinker({ tokens: Infinity, place })],
      async (model, [seen]) => {
        const budget = createRequestBudget(20_000).open();
        const response = await model.ask(modelRequest({ budget }), never());
        isAnswer(response);
        assert.deepEqual(tokensAsked(seen), [200 + 1000, 200]);
        assert.equal(budget.spent(), response.promptTokens + response.outputTokens);
        assert.equal(response.origin?.sampling, "temperature=0", "the answer came without thoughts");
      },
      { thinkingTokens: 1000 },
      "vllm",
    );
  against(
    "that never stop, whatever the server is told, are a failure of their own",
    [thinker({ tokens: Infinity, place: "reasoning_content", isDeaf: true })],
    async (model, [seen]) => {
      const budget = createRequestBudget(20_000).open();
      const asked = model.ask(modelRequest({ budget }), never());
      await assert.rejects(
        asked,
        failsWith("MODEL_FAILED", "thinking-too-long", /said no answer; raise model\.thinkingTokens \(now 4096\)/u),
      );
      assert.deepEqual(tokensAsked(seen), [200, 200 + 4096, 200]);
      assert.equal(budget.spent(), 3 * 30 + 200 + 200 + 4096 + 200);
    },
  );
  for (const place of places)
    against(
      `of a server that goes on after max_tokens are cut, in ${place}: the call fails, and the budget is kept`,
      [thinker({ tokens: 30_000, place, isUnbounded: true })],
      async (model, [seen]) => {
        const budget = createRequestBudget(20_000).open();
        const asked = model.ask(modelRequest({ budget }), never());
        await assert.rejects(asked, failsWith("MODEL_FAILED", "answer-too-large", /max_tokens is 1200/u));
        assert.deepEqual(tokensAsked(seen), [1200]);
        assert.ok(budget.spent() <= 2000, String(budget.spent()));
      },
      { thinkingTokens: 1000 },
    );
  const smallContext: Handler = (seen, response, attempt) =>
    seen.body.max_tokens <= 1000
      ? thinker({ tokens: 300, place: "reasoning" })(seen, response, attempt)
      : reply(response, 400, JSON.stringify({ message: "'max_tokens' is too large: maximum context length is 1000" }));
  against(
    "that do not fit into the server's context beside the prompt are left out",
    [smallContext],
    async (model, [seen]) => {
      const budget = createRequestBudget(20_000).open();
      const response = await model.ask(modelRequest({ budget }), never());
      isAnswer(response);
      assert.deepEqual(tokensAsked(seen), [1200, 200]);
      assert.equal(response.origin?.sampling, "temperature=0");
      assert.equal(budget.spent(), response.promptTokens + response.outputTokens);
    },
    { thinkingTokens: 1000 },
    "vllm",
  );
  against(
    "that do not fit and cannot be turned off are a failure of their own",
    [
      (seen, response, attempt) =>
        seen.body.max_tokens <= 1000
          ? thinker({ tokens: 300, place: "reasoning", isDeaf: true })(seen, response, attempt)
          : smallContext(seen, response, attempt),
    ],
    async (model, [seen]) => {
      await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_FAILED", "thinking-too-long"));
      assert.deepEqual(tokensAsked(seen), [200, 200 + 4096, 200]);
    },
  );
  const hidden: Handler = (seen, response) => {
    if (seen.body.max_tokens > 1000) return stream(response, good);
    const usage = { completion_tokens: 200, prompt_tokens: 20, completion_tokens_details: { reasoning_tokens: 200 } };
    const choices = [{ finish_reason: "length", message: { content: "" } }];
    return reply(response, 200, JSON.stringify({ choices, usage }));
  };
  against("that a server only counts get the usual budget, too", [hidden], async (model, [seen]) => {
    assert.equal((await model.ask(modelRequest(), never())).fields["answer"], "yes");
    assert.deepEqual(tokensAsked(seen), [200, 200 + 4096]);
  });
  const twoFields: Handler = (seen, response) => {
    if (seen.body.max_tokens > 1000) return stream(response, good);
    const message = { content: "", reasoning_content: "", reasoning: "Let me see" };
    const usage = { completion_tokens: 200, prompt_tokens: 20 };
    return reply(response, 200, JSON.stringify({ choices: [{ finish_reason: "length", message }], usage }));
  };
  against("are seen beside an empty field of the other name", [twoFields], async (model, [seen]) => {
    assert.equal((await model.ask(modelRequest(), never())).fields["answer"], "yes");
    assert.deepEqual(tokensAsked(seen), [200, 200 + 4096]);
  });
  against(
    "that would cost more than the request has left are not begun",
    [thinker({ tokens: 10, place: "reasoning" })],
    async (model, [seen]) => {
      const budget = createRequestBudget(4000).open();
      await assert.rejects(model.ask(modelRequest({ budget }), never()), failsWith("MODEL_FAILED", "budget-spent"));
      assert.equal(seen?.length, 0);
    },
    { thinkingTokens: 4000 },
  );
  against(
    "that leave too little room for the answer are turned off, and a short reasoning is asked for",
    [thinker({ tokens: 1195, place: "reasoning_content" })],
    async (model, [seen]) => {
      isAnswer(await model.ask(modelRequest({ maxTokens: 200 }), never()));
      const [first, second] = seen ?? [];
      assert.equal(first?.body.chat_template_kwargs?.enable_thinking, true);
      assert.equal(second?.body.chat_template_kwargs?.enable_thinking, false);
    },
    { thinkingTokens: 1000 },
    "llama.cpp",
  );

  const refusing =
    (field: keyof Seen["body"], then: Handler): Handler =>
    (seen, response, attempt) =>
      seen.body[field] === undefined
        ? then(seen, response, attempt)
        : reply(response, 400, JSON.stringify({ error: { message: `Unrecognized request argument: ${field}` } }));
  for (const [provider, field] of [
    ["vllm", "chat_template_kwargs"],
    ["vllm", "thinking_token_budget"],
    ["llama.cpp", "chat_template_kwargs"],
    ["openrouter", "reasoning"],
  ] as const)
    against(
      `a server that refuses ${field} is not sent it again (${provider})`,
      [refusing(field, (_, response) => stream(response, good))],
      async (model, [seen]) => {
        for (let i = 0; i < 2; i++) assert.equal((await model.ask(modelRequest(), never())).fields["answer"], "yes");
        assert.deepEqual(
          seen?.map(({ body }) => body[field] !== undefined),
          [true, false, false],
        );
      },
      { thinkingTokens: 500 },
      provider,
    );

  const sent: readonly (readonly [string, number, object])[] = [
    ["vllm", 0, { chat_template_kwargs: { enable_thinking: false } }],
    ["vllm", 700, { chat_template_kwargs: { enable_thinking: true }, thinking_token_budget: 700 }],
    ["llama.cpp", 0, { chat_template_kwargs: { enable_thinking: false } }],
    ["llama.cpp", 700, { chat_template_kwargs: { enable_thinking: true } }],
    ["openrouter", 0, {}],
    ["openrouter", 700, { reasoning: { max_tokens: 700 } }],
    ["ollama", 0, {}],
    ["openai", 0, {}],
  ];
  for (const [provider, thinkingTokens, expected] of sent)
    against(
      `${provider} is told of ${thinkingTokens} tokens in its own words`,
      [(_, response) => stream(response, good)],
      async (model, [seen]) => {
        await model.ask(modelRequest(), never());
        const { chat_template_kwargs, thinking_token_budget, reasoning, reasoning_effort, max_tokens } = seen![0]!.body;
        const fields = { chat_template_kwargs, thinking_token_budget, reasoning, reasoning_effort };
        assert.deepEqual(JSON.parse(JSON.stringify(fields)), expected);
        assert.equal(max_tokens, 200 + thinkingTokens);
      },
      { thinkingTokens },
      provider as "vllm",
    );

  const tags = [
    ["<think>", "</think>"],
    ["<thinking>", "</thinking>"],
    ["<reasoning>", "</reasoning>"],
    ["<thought>", "</thought>"],
    ["[THINK]", "[/THINK]"],
    ["◁think▷", "◁/think▷"],
    ["<seed:think>", "</seed:think>"],
  ] as const;
  it("in the content are cut out wherever a stream is broken, and an answer that quotes their mark is whole", () => {
    assert.deepEqual(THOUGHT_TAGS, tags);
    const answer = `{"proof":"it says </think> {","answer":"yes"}`;
    const texts: readonly (readonly [string, string, boolean])[] = [
      [answer, answer, false],
      [` \n${answer}`, answer, false],
      [`<think>\na { b </think> c\n</think>\n\n${answer}`, answer, true],
      [`no mark opens this\n</think>${answer}`, answer, true],
      ["<think> without end {", "", true],
      ...tags.flatMap(([begin, end]): (readonly [string, string, boolean])[] => [
        [`${begin}\na { b ${end}\n${answer}`, answer, true],
        [`no mark opens this ${end}${answer}`, answer, true],
        [`${begin} without end {`, "", true],
        [`${begin}${end}\n${answer}`, answer, true],
        [`${begin}${begin} twice ${end} and ${begin} again ${end}${end}${answer}`, answer, true],
      ]),
      [`<thinking>a </think>{"answer":"no"} b</thinking>${answer}`, answer, true],
      [`<|channel|>analysis<|message|>a {<|end|><|start|>assistant<|channel|>final<|message|>${answer}`, answer, true],
      [`<|channel|>analysis<|message|>a<|channel|>final <|constrain|>json<|message|>${answer}`, answer, true],
      [`<|channel|>final<|message|>${answer}`, answer, false],
      ["<|channel|>analysis<|message|>a {", "", true],
      ["The answer is: yes!", "", false],
    ];
    for (const [text, expected, hasThought] of texts)
      for (const size of [1, 2, 3, 7, 100]) {
        const taken = new AnswerText();
        let shown = "";
        for (let at = 0; at < text.length; at += size) shown += taken.add(text.slice(at, at + size));
        assert.deepEqual([taken.answer, shown, taken.hasThought], [expected, expected, hasThought], text);
      }
  });

  it("in the content may be as long and as nested as a hostile server likes: only the end of them is kept", async () => {
    const tookMs = await processorMs(() => {
      for (const piece of [" ", "<think>", "<thinking>{", "</think>", "<|channel|>analysis<|", "[THINK", "◁"]) {
        const taken = new AnswerText();
        for (let i = 0; i < 200_000; i++) taken.add(piece);
        assert.equal(taken.answer, "", piece);
        assert.ok(taken.thoughtLength > 200_000 * piece.length - 2 * LONGEST_MARK, piece);
      }
    });
    // Text that is kept and searched again with each piece would take minutes.
    assertBelow(tookMs, 60_000);
  });
});

describe("model: openai, thoughts by the model's size", () => {
  it("is in the name", () => {
    const cases: readonly (readonly [string, number | null])[] = [
      ["Qwen/Qwen3-8B", 8e9],
      ["qwen3:0.6b", 0.6e9],
      ["deepseek-r1-distill-qwen-1.5b", 1.5e9],
      ["Qwen/Qwen3-30B-A3B-Thinking-2507", 30e9],
      ["mixtral-8x7b-instruct", 56e9],
      ["openai/gpt-oss-120b:free", 120e9],
      ["smollm2-135m-q4_k_m.gguf", 135e6],
      ["/models/Meta-Llama-3.1-8B-Instruct.Q4_K_M.gguf", 8e9],
      ["Qwen2.5-7B-Instruct-1M", 7e9],
      ["phi-4", null],
      ["gpt-5.1", null],
      ["o3-mini-b200", null],
      ["b".repeat(200), null],
    ];
    for (const [name, parameters] of cases) assert.equal(parametersIn(name), parameters, name);
  });

  const unasked = thinker({ tokens: 500, place: "reasoning_content" });
  const listed: readonly (readonly [string, string, object[], number])[] = [
    ["its name", "qwen3-1.7b", [], 1024],
    ["its name", "qwen3-8b", [], 4096],
    ["llama.cpp's list", "mine", [{ id: "mine", meta: { n_params: 8_190_735_360 } }], 4096],
    ["the only model of a list", "mine", [{ id: "other", meta: { n_params: 135e6 } }], 1024],
    ["what vLLM serves by that name", "mine", [{ id: "mine", root: "Qwen/Qwen3-4B" }, { id: "x" }], 4096],
    ["OpenRouter's card", "mine", [{ id: "mine", hugging_face_id: "Qwen/Qwen3-32B", root: 5 }], 4096],
    ["nothing", "mine", [{ id: "mine", meta: { n_params: -1 } }], 4096],
  ];
  for (const [what, model, data, tokens] of listed)
    it(`has the budget of its size by ${what}, ${tokens}`, async () => {
      const server = await startOpenAiServer(unasked, (response) => void response.end(JSON.stringify({ data })));
      const endpoint = { provider: "openai", baseUrl: server.url, model } as const;
      const asked = createOpenAiModel({
        endpoints: [endpoint],
        timeoutMs: 60_000,
        retries: 0,
        concurrency: 1,
        waiting: 8,
      });
      try {
        for (let i = 0; i < 2; i++) isAnswer(await asked.ask(modelRequest(), never()));
        assert.deepEqual(tokensAsked(server.seen), [200, 200 + tokens, 200 + tokens]);
      } finally {
        await asked.close();
        await server.close();
      }
    });
});

describe("model: openai, an answer that is cut off", () => {
  /** Writes a long reasoning unless a short one is asked for. */
  const wordy: Handler = ({ body }, response) => {
    const { maxLength = Infinity } = body.response_format.json_schema.schema.properties["proof"] ?? {};
    if (maxLength <= 64) return stream(response, good);
    const content = `{"proof":"${"again ".repeat(40)}`;
    const usage = { prompt_tokens: 20, completion_tokens: 200 };
    return reply(
      response,
      200,
      JSON.stringify({ choices: [{ finish_reason: "length", message: { content } }], usage }),
    );
  };
  against("within its reasoning is asked for once more, with a short one", [wordy], async (model, [seen]) => {
    const schema = {
      properties: [
        { name: "proof", maxLength: 512 },
        { name: "answer", maxLength: 128 },
      ],
    };
    let shown = "";
    const { fields, promptTokens } = await model.ask(modelRequest({ schema }), never(), (text) => (shown = text));
    assert.deepEqual(fields, JSON.parse(good));
    assert.equal(promptTokens, 40);
    assert.notEqual(shown, "");
    const [, second] = seen ?? [];
    const { proof, answer } = second!.body.response_format.json_schema.schema.properties;
    assert.deepEqual([proof?.maxLength, proof?.description], [64, "at most 64 characters"]);
    assert.equal(answer?.maxLength, 128, "the answer itself keeps its length");
  });
});

describe("model: openai, forms", () => {
  const schema = {
    properties: [
      { name: "proof", maxLength: 24 },
      { name: "answer", maxLength: 128, form: { kind: "number", decimals: 2 } },
    ],
  } as const;
  const answers: Handler = (_, response) => stream(response, '{"proof":"p","answer":"4.5"}');
  against("are patterns of the schema, without a length", [answers], async (model, [seen]) => {
    await model.ask(modelRequest({ schema }), never());
    assert.deepEqual(seen?.[0]?.body.response_format.json_schema.schema.properties["answer"], {
      type: "string",
      description: "a number in digits, with at most 2 decimals",
      pattern: String.raw`^-?(0|[1-9][0-9]{0,35})(\.[0-9]{1,2})?$`,
    });
  });
  const noPattern: Handler = (seen, response, attempt) =>
    seen.body.response_format.json_schema.schema.properties["answer"]?.pattern === undefined
      ? answers(seen, response, attempt)
      : reply(response, 400, JSON.stringify({ error: { message: "Invalid schema: 'pattern' is not permitted" } }));
  against("are lengths and words where a server refuses patterns", [noPattern], async (model, [seen]) => {
    for (let i = 0; i < 2; i++) await model.ask(modelRequest({ schema }), never());
    const sent = seen?.map(({ body }) => body.response_format.json_schema.schema.properties["answer"]);
    assert.equal(sent?.length, 3);
    assert.deepEqual(sent[2], {
      type: "string",
      description: "a number in digits, with at most 2 decimals",
      maxLength: 128,
    });
  });
});
