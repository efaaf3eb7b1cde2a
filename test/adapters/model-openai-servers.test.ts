import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, it, mock } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { createOpenAiModel } from "../../agents/adapters/models/openai-model.ts";
import { providerIds } from "../../agents/adapters/models/openai-providers.ts";
import { createRequestBudget } from "../../agents/node/seat/token-budget.ts";
import { against, answers, good, served } from "./fixtures/openai-served.ts";
import { reply, startOpenAiServer, stream, type Handler } from "./fixtures/openai-server.ts";
import { failsWith, modelRequest, modelSuite, never } from "./model.suite.ts";

const hangs: Handler = async () => await new Promise(() => {});

for (const provider of providerIds)
  modelSuite(
    `openai, ${provider}, streamed`,
    async () => await served([answers], {}, provider),
    async () => await served([hangs], {}, provider),
  );

describe("model: openai, streams", () => {
  against("shows the text piece by piece and counts its tokens", [answers], async (model, [seen]) => {
    const parts: string[] = [];
    const askedMs = performance.now();
    const response = await model.ask(modelRequest(), never(), (text) => parts.push(text));
    assert.ok(parts.length >= 3, JSON.stringify(parts));
    assert.deepEqual(JSON.parse(parts.join("")), response.fields);
    assert.deepEqual([response.promptTokens, response.outputTokens], [20, 3]);
    assert.ok(response.confidencePpm !== null && response.confidencePpm < 1_000_000);
    // Only one of the two times includes the wait for a place, which is long on a busy machine.
    const allMs = Math.ceil(performance.now() - askedMs);
    assert.ok(response.firstTokenMs <= allMs && response.durationMs <= allMs);
    assert.deepEqual(response.origin, {
      model: "openai:model-0",
      engine: "openai b1234",
      sampling: "temperature=0",
      seed: 7,
    });
    assert.deepEqual([seen?.[0]?.body.stream, seen?.[0]?.body.stream_options], [true, { include_usage: true }]);
  });

  const cut: Handler = (_, response) => stream(response, good, (open) => void open.destroy());
  const half = '{"proof":"p","ans';
  const cutInside = (response: ServerResponse): void => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: half } }] })}\n\n`);
    setTimeout(() => response.end(), 20);
  };
  against(
    "asks again when a stream is cut, and shows the text once",
    [(seen, response, attempt) => (attempt === 1 ? cutInside(response) : answers(seen, response, attempt))],
    async (model, [seen]) => {
      let text = "";
      const { fields } = await model.ask(modelRequest(), never(), (part) => (text += part));
      assert.equal(seen?.length, 2);
      assert.ok(fields["answer"]);
      assert.ok(text === JSON.stringify(fields) || text === half, text);
    },
  );
  against("gives up on a server whose streams are always cut", [cut], async (model, [seen]) => {
    await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_UNREACHABLE"));
    assert.equal(seen?.length, 3);
  });
  against(
    "reports an error within a stream by its kind",
    [
      (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end('data: {"error":{"code":429,"message":"slow down"}}\n\n');
      },
    ],
    async (model, [seen]) => {
      await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_FAILED", "rate-limit", /slow down/u));
      assert.equal(seen?.length, 3);
    },
  );
  against(
    "refuses a stream of something else",
    [
      (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end("data: {]\n\n");
      },
    ],
    async (model) => {
      await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_FAILED", "unparsable"));
    },
  );
  against(
    "reads no more than a megabyte of an answer of ten",
    [(_, response) => stream(response, JSON.stringify({ proof: "x".repeat(10_000_000), answer: "yes" }))],
    async (model, [seen]) => {
      await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_FAILED", "answer-too-large"));
      assert.equal(seen?.length, 1);
    },
    { timeoutMs: 60_000 },
  );
  const spaced = (characters: number): string => `{"proof":"p",${" ".repeat(characters)}"answer":"yes"}`;
  against(
    "takes an answer of 14 characters for each token, from a server that keeps to max_tokens",
    [(_, response) => stream(response, spaced(14 * 200))],
    async (model) => assert.equal((await model.ask(modelRequest(), never())).fields["answer"], "yes"),
  );
  against(
    "cuts an answer of more characters than its tokens can have",
    [(_, response) => stream(response, spaced(32 * 200))],
    async (model) => {
      const says = /goes on after \d+ characters, and max_tokens is 200/u;
      await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_FAILED", "answer-too-large", says));
    },
  );
  it("closes the connection of an aborted call, so that the server stops", async () => {
    const gone = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const slow: Handler = (_, response) => {
      response.on("close", () => gone.resolve());
      stream(response, good, () => begun.resolve());
    };
    const { model, dispose } = await served([slow]);
    const stop = new AbortController();
    const asked = assert.rejects(model.ask(modelRequest(), stop.signal), failsWith("MODEL_FAILED", "timeout"));
    await begun.promise;
    stop.abort();
    await asked;
    await gone.promise;
    await dispose();
  });
});

describe("model: openai, several servers", () => {
  const down: Handler = (_, response) => reply(response, 503, "busy");
  const yes: Handler = (_, response) => stream(response, good);
  against(
    "asks the next server at once, and asks the failed one last for a while",
    [down, yes],
    async (model, seen) => {
      // Without retries nothing is waited for. The clock stands still, so that no rest ends.
      const nowMs = performance.now();
      const clock = mock.method(performance, "now", () => nowMs);
      try {
        const { origin } = await model.ask(modelRequest(), never());
        assert.equal(origin?.model, "openai:model-1");
        await model.ask(modelRequest(), never());
      } finally {
        clock.mock.restore();
      }
      assert.deepEqual(
        seen.map(({ length }) => length),
        [1, 2],
      );
    },
    { retries: 0 },
  );
  against(
    "goes back to the preferred server after its rest",
    [(_, response, attempt) => (attempt === 1 ? reply(response, 500, "") : stream(response, good)), yes],
    async (model, seen) => {
      await model.ask(modelRequest(), never());
      await sleep(1100);
      await model.ask(modelRequest(), never());
      assert.deepEqual(
        seen.map(({ length }) => length),
        [2, 1],
      );
    },
  );
  against(
    "also asks the next server after a wrong key or an unknown model",
    [(_, response) => reply(response, 401, "{}"), (_, response) => reply(response, 404, "{}"), yes],
    async (model, seen) => {
      assert.equal((await model.ask(modelRequest(), never())).fields["answer"], "yes");
      assert.deepEqual(
        seen.map(({ length }) => length),
        [1, 1, 1],
      );
    },
  );
  against(
    "does not ask another server after a bad answer of the first",
    [(_, response) => stream(response, '{"proof":"p","answer":"perhaps"}'), yes],
    async (model, seen) => {
      await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_FAILED", "unparsable"));
      assert.deepEqual(
        seen.map(({ length }) => length),
        [1, 0],
      );
    },
  );
  against(
    "fails when all fail, with the error of the server that may recover first",
    [(_, response) => reply(response, 401, "{}"), down],
    async (model, seen) => {
      await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_UNREACHABLE"));
      assert.deepEqual(
        seen.map(({ length }) => length),
        [2, 2],
      );
    },
    { retries: 1 },
  );
  against(
    "does not pile retries onto a server that is down",
    [down],
    async (model, [seen]) => {
      const asks = Array.from({ length: 30 }, async () => await model.ask(modelRequest(), never()));
      const results = await Promise.allSettled(asks);
      assert.ok(results.every(({ status }) => status === "rejected"));
      assert.ok(seen !== undefined && seen.length <= 30 + 10 + 6, `${seen?.length} requests`);
    },
    { retries: 5, concurrency: 30, timeoutMs: 20_000 },
  );
});

describe("model: openai, calls at the same time", () => {
  it("runs as many calls as it has places: further calls wait, and too many fail at once", async () => {
    let most = 0;
    let running = 0;
    const slow: Handler = (_, response) => {
      most = Math.max(most, ++running);
      setTimeout(() => {
        running--;
        stream(response, good);
      }, 100);
    };
    const { model, dispose } = await served([slow], { concurrency: 2, waiting: 2 });
    const asks = Array.from({ length: 5 }, async () => await model.ask(modelRequest(), never()));
    const failed = (await Promise.allSettled(asks)).filter((one) => one.status === "rejected");
    assert.deepEqual([failed.length, most], [1, 2]);
    assert.ok(failsWith("MODEL_FAILED", "overloaded")(failed[0]?.reason));
    await dispose();
  });
});

describe("model: openai, P8: an attempt and the budget", () => {
  const down: Handler = (_, response) => reply(response, 503, "busy");
  const cut: Handler = (_, response) => stream(response, good, (open) => void open.destroy());
  const uncounted: Handler = (_, response) => reply(response, 200, JSON.stringify({ choices: [goodChoice] }));
  const negative: Handler = (_, response) =>
    reply(
      response,
      200,
      JSON.stringify({ choices: [goodChoice], usage: { prompt_tokens: -5000, completion_tokens: 1 } }),
    );
  const goodChoice = { finish_reason: "stop", message: { content: good } };
  const { system, user, maxTokens } = modelRequest();
  const most = system.length + user.length + 256 + maxTokens;
  const least = Math.ceil((system.length + user.length + good.length) / 8);
  const counting =
    (tokens: number): Handler =>
    (_, response) => {
      const usage = { prompt_tokens: tokens, completion_tokens: 0 };
      reply(response, 200, JSON.stringify({ choices: [goodChoice], usage }));
    };
  const cases: readonly (readonly [string, readonly Handler[], number])[] = [
    ["takes nothing when a server answers with an error status", [down, answers], 23],
    ["takes the most when a stream breaks off", [cut, answers], most + 23],
    ["takes the most when a server counts no tokens", [uncounted], most],
    ["takes the most when a server's count is impossible", [negative], most],
    ["takes the most when a server counts more than any model reads", [counting(Number.MAX_SAFE_INTEGER)], most],
    [
      "takes nothing when a server redirects",
      [(_, response) => reply(response, 307, "", { location: "/v2" }), answers],
      23,
    ],
    ["takes at least one token per eight bytes when a server counts zero", [counting(0)], least],
    ["takes what a server counts if that is more", [counting(least + 1)], least + 1],
  ];
  for (const [title, handlers, tokens] of cases)
    against(title, handlers, async (model) => {
      const budget = createRequestBudget(100_000).open();
      await model.ask(modelRequest({ budget }), never());
      assert.equal(budget.spent(), tokens);
    });

  it("takes nothing when there is no server", async () => {
    const { url, close } = await startOpenAiServer(answers);
    await close();
    const endpoints = [{ provider: "openai", baseUrl: url, model: "m" }] as const;
    const model = createOpenAiModel({ endpoints, timeoutMs: 60_000, retries: 2, concurrency: 1, waiting: 1 });
    const budget = createRequestBudget(100_000).open();
    await assert.rejects(model.ask(modelRequest({ budget }), never()), failsWith("MODEL_UNREACHABLE"));
    assert.equal(budget.spent(), 0);
    await model.close();
  });

  it("takes nothing when a certificate is not trusted", async () => {
    const endpoints = [{ provider: "openai", baseUrl: "https://127.0.0.1:1/v1", model: "m" }] as const;
    const model = createOpenAiModel({ endpoints, timeoutMs: 60_000, retries: 0, concurrency: 1, waiting: 1 });
    const codes = ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "DEPTH_ZERO_SELF_SIGNED_CERT", "HOSTNAME_MISMATCH"];
    for (const [code, cost] of [...codes.map((one) => [one, 0] as const), ["ECONNRESET", most] as const]) {
      const broken = mock.method(globalThis, "fetch", async () => {
        await Promise.resolve();
        throw new TypeError("fetch failed", { cause: { code } });
      });
      const budget = createRequestBudget(100_000).open();
      const asked = model.ask(modelRequest({ budget }), never());
      await assert.rejects(asked, failsWith("MODEL_UNREACHABLE")).finally(() => broken.mock.restore());
      assert.equal(budget.spent(), cost, code);
    }
    await model.close();
  });

  against("no more attempts than there is room for", [cut], async (model, [seen]) => {
    const budget = createRequestBudget(2 * most).open();
    await assert.rejects(model.ask(modelRequest({ budget }), never()), failsWith("MODEL_FAILED", "budget-spent"));
    assert.deepEqual([seen?.length, budget.spent()], [2, 2 * most]);
  });
});
