import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { modelConfigSchema } from "../../agents/adapters/models/config.ts";
import { probeFile } from "../../agents/adapters/models/llama-probe.ts";
import { listModels } from "../../agents/adapters/models/openai-probe.ts";
import { readGgufHeader } from "../../agents/adapters/models/gguf.ts";
import type { CliHost } from "../../agents/cli/shared/command.ts";
import type { Check } from "../../agents/cli/doctor/checks.ts";
import { examineModel } from "../../agents/cli/doctor/model.ts";
import { llamaModels } from "./fixtures/llama-models.ts";
import {
  completion,
  minimalAnswer,
  reply,
  startOpenAiServer,
  stream,
  type Handler,
  type ListHandler,
} from "./fixtures/openai-server.ts";
import { failsWith, never } from "./model.suite.ts";

const KEY = "sk-very-secret-key";
const host = { environment: { KEY }, signal: never() } as unknown as CliHost;
const { directory, gguf } = await llamaModels();

const answers: Handler = (seen, response) => stream(response, JSON.stringify(minimalAnswer(seen)));
const hangs = async (): Promise<void> => await new Promise(() => {});
const listing =
  (...ids: readonly string[]): ListHandler =>
  (response) =>
    void response.end(JSON.stringify({ object: "list", data: ids.map((id) => ({ id })) }));
const refusing =
  (status: number, body = ""): ListHandler =>
  (response) =>
    reply(response, status, body);

interface Case {
  readonly provider?: string;
  readonly list?: ListHandler;
  readonly handler?: Handler;
  readonly more?: object;
  readonly graceMs?: number;
}

/** The doctor's finding about a model on a server that behaves like this, and how often it asked the server. */
async function examined({
  provider = "openai",
  list,
  handler = answers,
  more = {},
  graceMs = 5_000,
}: Case): Promise<[Check, number]> {
  const { url, seen, close } = await startOpenAiServer(handler, list);
  try {
    const config = { kind: "openai", provider, url, model: "test-model", apiKeyEnv: "KEY", ...more };
    const [found, ...others] = await examineModel(modelConfigSchema.parse(config), graceMs, host);
    assert.ok(found !== undefined && others.length === 0);
    assert.equal(found.name, "model");
    assert.equal(found.way === undefined, found.level === "ok", JSON.stringify(found));
    assert.ok(!JSON.stringify(found).includes(KEY), found.message);
    return [found, seen.length];
  } finally {
    await close();
  }
}

const schemaWay = /^choose a server or model that can be held to a JSON schema/;
const findings: readonly (readonly [
  title: string,
  Case,
  Check["level"],
  message: RegExp,
  way: RegExp,
  asked: number,
])[] = [
  [
    "answers",
    {},
    "ok",
    /^openai:test-model at http:\/\/127.* answers by a JSON schema and gives token probab/,
    /^$/,
    1,
  ],
  [
    "is listed by name",
    { provider: "vllm", list: listing("a", "test-model") },
    "ok",
    /answers by a JSON schema/,
    /^$/,
    1,
  ],
  ["is listed with a tag", { provider: "ollama", list: listing("test-model:latest") }, "ok", /answers/, /^$/, 1],
  [
    "thinks as much as it may",
    { provider: "vllm", list: listing("test-model"), more: { thinkingTokens: 1000 } },
    "ok",
    /answers by a JSON schema/,
    /^$/,
    1,
  ],
  [
    "is slower than others wait",
    {
      graceMs: 100,
      handler: (...call) => {
        setTimeout(() => void answers(...call), 200);
      },
    },
    "warn",
    /answers by a JSON schema and .*; one short question took it .* they wait 0\.1 s more \(timing\.graceMs\)$/,
    /^lower model\.thinkingTokens, or take a quicker server: /,
    1,
  ],
  [
    "has no room for the thoughts",
    {
      provider: "vllm",
      list: listing("test-model"),
      handler: (seen, response, attempt) =>
        seen.body.max_tokens < 1000
          ? answers(seen, response, attempt)
          : reply(response, 400, JSON.stringify({ message: "max_tokens: maximum context length is 1000 tokens" })),
      more: { thinkingTokens: 1000 },
    },
    "warn",
    /answers by a JSON schema and .* but only without thought: 1000 tokens do not fit into its context, or/,
    /^change model\.thinkingTokens, or/,
    2,
  ],
  ["has no list", { list: refusing(404) }, "ok", /answers by a JSON schema/, /^$/, 1],
  ["lists no JSON", { list: (response) => void response.end("<html>") }, "ok", /answers by a JSON schema/, /^$/, 1],
  [
    "refuses the key, and echoes it",
    { list: refusing(401, JSON.stringify({ error: { message: `wrong key ${KEY}` } })) },
    "fail",
    /MODEL_FAILED.*the server answers 401: "wrong key \[key\]"; check apiKeyFile or apiKeyEnv in the config$/,
    /^check url, model, apiKeyFile or apiKeyEnv/,
    0,
  ],
  [
    "takes every key for its list only",
    { list: listing("test-model"), handler: (_, response) => reply(response, 403, "no") },
    "fail",
    /the server answers 403: "no"; check apiKeyFile or apiKeyEnv in the config$/,
    /apiKeyFile/,
    1,
  ],
  [
    "has other models, by its list",
    { provider: "vllm", list: listing("a", "b\u001b[2J") },
    "fail",
    /^MODEL_FAILED: the server at http:\/\/127.* has no model "test-model"; it lists "a, b \[2J"$/,
    /^correct model in the config/,
    0,
  ],
  [
    "has other models, by its answer",
    { list: listing("a", "b"), handler: (_, response) => reply(response, 404, "no such model") },
    "fail",
    /the server answers 404: "no such model"; check url and model in the config; it lists "a, b"$/,
    /^check url, model/,
    1,
  ],
  [
    "knows no schemas",
    { handler: (_, response) => reply(response, 400, '{"error":{"message":"response_format is not supported"}}') },
    "fail",
    /\(unsupported\).*cannot hold the model to a JSON schema/,
    schemaWay,
    1,
  ],
  [
    "passes the schema over",
    { handler: (_, response) => reply(response, 200, completion("The answer is: yes!")) },
    "fail",
    /\(unparsable\).*the output is not JSON/,
    schemaWay,
    1,
  ],
  [
    "lists 9 MB",
    { list: (response) => void response.end("x".repeat(9_000_000)) },
    "fail",
    /answer-too-large.*its list of models has more than 8388608 bytes/,
    /^look at the server/,
    0,
  ],
  [
    "answers with 10 MB",
    { handler: (_, response) => reply(response, 200, completion("x".repeat(10_000_000))) },
    "fail",
    /answer-too-large.*more than 1048576 bytes/,
    /^look at the server/,
    1,
  ],
  [
    "does not answer in time",
    { handler: hangs, more: { timeoutMs: 3_000 } },
    "warn",
    /\(timeout\)/,
    /^ask again later/,
    1,
  ],
  [
    "does not answer in time and has no list",
    { handler: hangs, list: refusing(404), more: { timeoutMs: 3_000 } },
    "fail",
    /\(timeout\)/,
    /./,
    1,
  ],
  [
    "limits the rate",
    { handler: (_, response) => reply(response, 429, "") },
    "warn",
    /\(rate-limit\)/,
    /^ask again/,
    1,
  ],
  ["limits the rate of its list", { list: refusing(429) }, "warn", /\(rate-limit\)/, /^ask again/, 0],
  ["is broken", { list: refusing(500) }, "fail", /MODEL_UNREACHABLE.*the server answers 500/, /^start the model/, 0],
];

describe("conclave doctor: a model on a server", () => {
  for (const [title, given, level, message, way, asked] of findings)
    it(`that ${title}`, async () => {
      const [found, questions] = await examined(given);
      assert.match(found.message, message);
      assert.match(found.way ?? "", way);
      assert.deepEqual([found.level, questions], [level, asked]);
    });

  it("is asked for its list with the key and a time limit; a redirect is not followed", async () => {
    const keys: unknown[] = [];
    const elsewhere: ListHandler = (response) => void response.writeHead(302, { location: "/v1/other" }).end();
    for (const [list, code, text] of [
      [(_response, key) => void keys.push(key), "MODEL_FAILED", /its list of models is not there after 3000 ms/u],
      [elsewhere, "MODEL_UNREACHABLE", /redirect/u],
    ] as readonly (readonly [ListHandler, "MODEL_FAILED" | "MODEL_UNREACHABLE", RegExp])[]) {
      const { url, close } = await startOpenAiServer(answers, list);
      const endpoint = { provider: "openai", baseUrl: url, model: "m", apiKey: KEY } as const;
      try {
        await assert.rejects(listModels(endpoint, 3_000, never()), failsWith(code, undefined, text));
      } finally {
        await close();
      }
    }
    assert.deepEqual(keys, [`Bearer ${KEY}`]);
  });

  it("is examined with every fallback server; a missing key is named", async () => {
    const { url, close } = await startOpenAiServer(answers);
    const fallbacks = [
      { url: "http://127.0.0.1:1/v1", model: "test-model" },
      { url, model: "test-model", apiKeyEnv: "ABSENT" },
    ];
    const config = modelConfigSchema.parse({ kind: "openai", url, model: "test-model", fallbacks });
    const [first, second, third] = await examineModel(config, 5_000, host);
    await close();
    assert.deepEqual([first?.name, first?.level], ["model", "ok"]);
    assert.deepEqual([second?.name, second?.level], ["model.fallbacks.0", "fail"]);
    assert.match(second?.message ?? "", /^MODEL_UNREACHABLE.*127\.0\.0\.1:1/);
    assert.deepEqual([third?.name, third?.level], ["model.fallbacks.1", "fail"]);
    assert.match(third?.message ?? "", /^CONFIG_MISSING.*model\.fallbacks\.1\.apiKeyEnv.*ABSENT is not set/);
  });
});

describe("conclave doctor: a key in a file", () => {
  const finding = async (mode: number): Promise<Check | undefined> => {
    const { url, close } = await startOpenAiServer(answers);
    const apiKeyFile = join(directory, `key-${mode.toString(8)}`);
    await writeFile(apiKeyFile, KEY);
    await chmod(apiKeyFile, mode);
    const [, file] = await examineModel(
      modelConfigSchema.parse({ kind: "openai", url, model: "test-model", apiKeyFile }),
      5_000,
      host,
    );
    await close();
    return file;
  };

  it("is ok if only its owner can read it, else a warning with the way out", async () => {
    assert.equal((await finding(0o600))?.level, "ok");
    const open = await finding(0o640);
    assert.deepEqual([open?.name, open?.level], ["model.apiKeyFile", "warn"]);
    assert.match(`${open?.message} ${open?.way}`, /key-640 .*640.* chmod 600 .*key-640/);
    assert.doesNotMatch(JSON.stringify(open), new RegExp(KEY, "u"));
  });
});

describe("conclave doctor: a model in a file", () => {
  const file = async (path: string, more: object = {}): Promise<Check> => {
    const [found] = await examineModel(
      modelConfigSchema.parse({ kind: "llama", path, gpu: false, ...more }),
      5_000,
      host,
    );
    assert.ok(found !== undefined);
    return found;
  };

  it("is warned of, with the six families of its questions, if it is a small one of the repository", async () => {
    const path = join(import.meta.dirname, "../../models/conclave-small.gguf");
    const checks = await examineModel(modelConfigSchema.parse({ kind: "llama", path, gpu: false }), 5_000, host);
    const found = checks.find(({ name }) => name === "questions");
    assert.equal(found?.level, "warn", JSON.stringify(checks));
    assert.match(found.message, /six families of toy questions: outside them its answers mean nothing.* below 100/);
    assert.match(found.way ?? "", /docs\/models\.md/);
    const general = modelConfigSchema.parse({ kind: "llama", path: gguf(), gpu: false, prompts: "general" });
    const other = await examineModel(general, 5_000, host);
    assert.deepEqual(
      other.map(({ name }) => name),
      ["model", "engine"],
    );
  });

  it("is loaded; a file that kills the loader, or that it refuses, is a failure with the way out", async () => {
    for (const [path, text] of [
      [gguf({ heads: 0 }), /^MODEL_FILE_BROKEN: .*the loader died on it \(SIGABRT/],
      [gguf({ heads: 7 }), /^MODEL_FILE_BROKEN: .*Failed to load model/],
    ] as const) {
      const { level, message, way } = await file(path);
      assert.deepEqual([level, way], ["fail", "download or export the GGUF file again"], message);
      assert.match(message, text);
      assert.ok(message.includes(path));
    }
    const good = await file(gguf({ context: 4096 }));
    // One layer of two heads of 16 values, as keys and values of two bytes: 128 bytes a token.
    const memory = /4096 tokens of context, at most 403 MiB of memory \(the file twice 1, 4 contexts 2\); it loads$/;
    assert.deepEqual([good.level, memory.test(good.message)], ["ok", true], good.message);
    const short = await file(gguf({ context: 512 }));
    assert.deepEqual(
      [short.level, /512 tokens of context, .*; prompts may need 4096$/.test(short.message)],
      ["warn", true],
    );
  });

  it("fails with code, value and way out when it is missing, not GGUF, another file, a base model or too small", async () => {
    const text = join(directory, "text.gguf");
    await writeFile(text, "not a model");
    for (const [path, more, message] of [
      [join(directory, "absent.gguf"), {}, /^MODEL_FILE_MISSING: .*absent\.gguf.*ENOENT/],
      [text, {}, /^MODEL_FILE_BROKEN: .*it is not a GGUF file/],
      [gguf(), { sha256: "ab".repeat(32) }, /^MODEL_DIGEST_WRONG: .*not (ab){32}/],
      [gguf({ prompt: "chat" }), {}, /^MODEL_TEMPLATE_MISSING: .*tokenizer\.chat_template.*instruct or chat/],
      [gguf({ context: 512 }), { contextSize: 513 }, /^MODEL_CONTEXT_TOO_SMALL: .*512 tokens.*513/],
      [
        gguf(),
        { contextSize: 511 },
        /^MODEL_CONTEXT_TOO_SMALL: .*511 tokens an answer needs 512; raise model\.context/,
      ],
      [gguf(), { thinkingTokens: 900 }, /^MODEL_CONTEXT_TOO_SMALL: .*model\.thinkingTokens is 900.*512 tokens/],
      [gguf({ context: 4096 }), { thinkingTokens: 900 }, /^CONFIG_INVALID: .*knows no thoughts; remove model\.thin/],
    ] as const) {
      const found = await file(path, more);
      assert.equal(found.level, "fail");
      assert.match(found.message, message);
      assert.ok(found.way);
    }
  });

  it("is not called broken when it does not load in time", async () => {
    const path = gguf();
    assert.equal(await probeFile(path, readGgufHeader(path), 0, "tiny", AbortSignal.abort()), false);
  });
});
