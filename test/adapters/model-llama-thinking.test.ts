import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  DeepSeekChatWrapper,
  getLlama,
  HarmonyChatWrapper,
  JinjaTemplateChatWrapper,
  LlamaLogLevel,
  QwenChatWrapper,
} from "node-llama-cpp";

import { generate } from "../../agents/adapters/models/generate.ts";
import { usualThinking } from "../../agents/adapters/models/thinking-budget.ts";
import { THOUGHT_TAGS } from "../../agents/adapters/models/thought-marks.ts";
import { chatOf, frameThoughts, templateWrapper, thoughtMark } from "../../agents/adapters/models/thoughts.ts";
import { createRequestBudget } from "../../agents/node/seat/token-budget.ts";
import { llamaModels, plainTemplate } from "./fixtures/llama-models.ts";
import { failsWith, modelRequest, never } from "./model.suite.ts";

const { gguf, load } = await llamaModels();

/** A template like ChatML, with thoughts between two marks. */
function template(opens: string, ends: string): string {
  const thoughts = `{% if message.reasoning_content %}${opens}{{ message.reasoning_content }}${ends}{% endif %}`;
  const message = `<|im_start|>{{ message.role }}\n${thoughts}{{ message.content }}<|im_end|>\n`;
  return `{% for message in messages %}${message}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`;
}
const thinks = template("<think>\n", "\n</think>\n\n");
const history = [
  { type: "system", text: "SYSTEM" },
  { type: "user", text: "Is THOUGHTS a word?" },
] as const;

describe("model: llama, thoughts in a chat template", () => {
  it("stand between the marks of the model's family, and the answer after them", () => {
    const cases = [
      [new QwenChatWrapper(), "</think>", /assistant\n<think>\n$/u, "\n</think>\n\n", "\n\n"],
      [new DeepSeekChatWrapper(), "</think>", /<think>$/u, "</think>\n\n", "\n\n"],
      [
        new HarmonyChatWrapper(),
        "<|end|>",
        /<\|start\|>assistant<\|channel\|>analysis<\|message\|>$/u,
        "<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|start|>assistant<|channel|>final<|message|>",
      ],
      [
        new JinjaTemplateChatWrapper({ template: thinks }),
        "</think>",
        /assistant\n<think>\n$/u,
        "\n</think>\n\n",
        "\n\n",
      ],
    ] as const;
    for (const [wrapper, mark, opening, closing, after] of cases) {
      assert.equal(thoughtMark(wrapper, `a template with ${mark}`), mark);
      const frame = frameThoughts(wrapper, history, mark);
      assert.match(frame.opened.toString(), opening);
      assert.match(frame.opened.toString(), /SYSTEM[^]*Is THOUGHTS a word\?/u, "the user's text is whole");
      assert.deepEqual([frame.closing, frame.after], [closing, after], wrapper.wrapperName);
    }
  });

  it("stand between any known tags of a template that the engine has no wrapper for", async () => {
    for (const [begin, end] of THOUGHT_TAGS) {
      const text = template(`${begin}\n`, `\n${end}\n`);
      const wrapper = templateWrapper(text, { tokenizer: undefined as never });
      assert.equal(thoughtMark(wrapper, text), end);
      const frame = frameThoughts(wrapper, history, end);
      assert.ok(frame.opened.toString().trimEnd().endsWith(begin), frame.opened.toString());
      assert.ok(frame.closing.trimStart().startsWith(end), frame.closing);
    }
  });

  it("are none where only the family's wrapper knows them, or nobody", () => {
    assert.equal(thoughtMark(new QwenChatWrapper(), "<|im_start|>"), null);
    assert.equal(thoughtMark(new QwenChatWrapper(), undefined), null);
    assert.equal(thoughtMark(new JinjaTemplateChatWrapper({ template: thinks.replaceAll("think", "x") }), "x"), null);
    assert.equal(thoughtMark(null, thinks), null);
  });

  it("have tokens by the model's size, fewer on a CPU", () => {
    const sizes = [135e6, 1.99e9, 2e9, 8e9, 70e9];
    assert.deepEqual(
      sizes.map((parameters) => usualThinking(parameters, false)),
      [1024, 1024, 4096, 4096, 4096],
    );
    assert.deepEqual([usualThinking(1e9, true), usualThinking(70e9, true)], [256, 1024]);
    assert.equal(usualThinking(null, false), 4096);
  });
});

describe("model: llama, thoughts", () => {
  const file = { prompt: "chat", context: 2048 };
  const asked = modelRequest({ maxTokens: 200 });

  it("end with their budget; the answer is valid, their cost is charged, and nobody sees them", async () => {
    const path = gguf({ ...file, template: thinks });
    const costs: number[][] = [];
    for (const thinkingTokens of [0, 300]) {
      const model = await load({ path, thinkingTokens });
      const used: number[] = [];
      for (let seed = 0; seed < 6; seed++) {
        const budget = createRequestBudget(100_000).open();
        let shown = "";
        const response = await model.ask({ ...asked, seed, budget }, never(), (text) => (shown += text));
        assert.deepEqual(JSON.parse(shown), response.fields);
        assert.ok(["yes", "no"].includes(response.fields["answer"] ?? ""));
        assert.equal(budget.spent(), response.promptTokens + response.outputTokens);
        const thoughts = thinkingTokens === 0 ? "" : ` thinking=${thinkingTokens}`;
        assert.equal(response.origin?.sampling, `temperature=0${thoughts}`);
        assert.deepEqual((await model.ask({ ...asked, seed }, never())).fields, response.fields, "by its seed");
        used.push(response.outputTokens);
      }
      costs.push(used);
      await model.close();
    }
    const [plain = [], thoughtful = []] = costs;
    assert.ok(Math.max(...plain) <= 80, String(plain));
    // Some seeds end the text before that.
    assert.ok(Math.max(...thoughtful) >= 300 && Math.max(...thoughtful) <= 380, String(thoughtful));
  });

  it("end by the model's own mark or by ours, and the answer follows in the same context", async () => {
    const llama = await getLlama({
      gpu: false,
      build: "never",
      skipDownload: true,
      maxThreads: 1,
      logLevel: LlamaLogLevel.error,
    });
    // A model of random parameters soon writes this mark, but never the other one.
    for (const [opens, ends, thought] of [
      ["[", "f", /^[^f]*f$/u],
      ["<think>", "</think>", /^[^]+<\/think>\n\n$/u],
    ] as const) {
      const modelPath = gguf({ ...file, template: template(opens, ends) });
      const model = await llama.loadModel({ modelPath });
      const context = await model.createContext({ contextSize: 2048, flashAttention: false, threads: 1 });
      const sequence = context.getSequence();
      const { chatWrapper, mark } = chatOf(model);
      assert.equal(mark, ends);
      const engine = { llama, model, chatWrapper, temperature: 0, thoughtMark: mark, thinkingTokens: 150 };
      for (const seed of [1, 2000, 4000]) {
        const ask = { ...asked, seed, stream: false };
        const { text, outputTokens } = await generate(engine, sequence, ask, never(), () => {});
        const [, reply = ""] = model.detokenize(sequence.contextTokens, true).split("assistant\n");
        const at = reply.indexOf('{"proof":"');
        assert.ok(reply.startsWith(opens) && at > opens.length, reply);
        assert.match(reply.slice(opens.length, at), thought);
        assert.ok(text.startsWith(reply.slice(at)), "the last token is not read again");
        assert.ok(outputTokens <= 150 + 80);
      }
      await context.dispose();
    }
    await llama.dispose();
  });

  it("give way to the answer where the prompt leaves little room", async () => {
    const model = await load({ path: gguf({ ...file, template: thinks }), thinkingTokens: 400 });
    const user = "x".repeat(1650);
    const { fields, promptTokens, outputTokens } = await model.ask({ ...asked, user }, never());
    assert.ok(["yes", "no"].includes(fields["answer"] ?? ""));
    assert.ok(promptTokens + outputTokens <= 2048, `${promptTokens} ${outputTokens}`);
    await model.close();
  });

  it("must leave room for prompts, and want a model that thinks", async () => {
    const path = gguf({ ...file, template: thinks });
    const most = 2048 - 1024 - 512;
    const tooMany = load({ path, thinkingTokens: most + 1 });
    const text = new RegExp(
      `model\\.thinkingTokens is ${most + 1}.*2048 tokens.*lower it to at most ${most}, or raise`,
      "u",
    );
    await assert.rejects(tooMany, failsWith("MODEL_CONTEXT_TOO_SMALL", undefined, text));
    const tooSmall = load({ path, contextSize: 1024, thinkingTokens: 1 });
    const raise = /of a context of 1024 tokens.*; raise model\.contextSize/u;
    await assert.rejects(tooSmall, failsWith("MODEL_CONTEXT_TOO_SMALL", undefined, raise));
    const noThinker = load({ path: gguf({ ...file, template: plainTemplate }), thinkingTokens: 100 });
    const remove = /knows no thoughts; remove model\.thinkingTokens/u;
    await assert.rejects(noThinker, failsWith("CONFIG_INVALID", undefined, remove));
    const enough = await load({ path, thinkingTokens: most });
    await enough.close();
  });
});
