import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { createMetrics } from "../../agents/adapters/metrics/metrics.ts";
import { createOpenAiModel, type OpenAiModelOptions } from "../../agents/adapters/models/openai-model.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { createRequestBudget } from "../../agents/node/seat/token-budget.ts";
import type { Model, ModelFailureKind } from "../../agents/ports/model.ts";
import { llamaModels, longAnswer } from "./fixtures/llama-models.ts";
import { readMetrics, servedMetrics, type ServedMetrics } from "./fixtures/metrics.ts";
import { completion, reply, startOpenAiServer, stream, type Handler } from "./fixtures/openai-server.ts";
import { tinyGguf } from "./fixtures/tiny-gguf.ts";
import { modelRequest, never } from "./model.suite.ts";
import { until } from "../support/until.ts";

const { gguf, load } = await llamaModels();
const failures = (kind: string): string => `conclave_model_failures_total{kind="${kind}"}`;

/** Polls until the series has the value, but not so often that the server refuses. */
async function reaches(metrics: ServedMetrics, series: string, value: number): Promise<void> {
  await until(async () => {
    if ((await metrics.read()).get(series) === value) return true;
    await sleep(250);
    return false;
  });
}

describe("metrics of an embedded model", () => {
  it("count tokens, time to the first token, the time of an answer, and tokens per second", async () => {
    const metrics = await servedMetrics();
    const model = metrics.measured(await load({ path: gguf() }));
    try {
      const before = await metrics.read();
      for (const series of ["prompt_tokens_total", "output_tokens_total", "time_to_first_token_seconds_count"])
        assert.equal(before.get(`conclave_model_${series}`), 0, series);
      const answers = [await model.ask(modelRequest(), never()), await model.ask(modelRequest({ seed: 8 }), never())];
      const sum = (read: (answer: (typeof answers)[0]) => number): number =>
        answers.reduce((all, answer) => all + read(answer), 0);
      const after = await metrics.read();
      const of = (series: string): number | undefined => after.get(`conclave_model_${series}`);
      assert.equal(
        of("prompt_tokens_total"),
        sum(({ promptTokens }) => promptTokens),
      );
      assert.equal(
        of("output_tokens_total"),
        sum(({ outputTokens }) => outputTokens),
      );
      assert.equal(of("time_to_first_token_seconds_count"), 2);
      assert.equal(
        of("time_to_first_token_seconds_sum"),
        sum(({ firstTokenMs }) => firstTokenMs / 1000),
      );
      assert.equal(of("answer_duration_seconds_count"), 2);
      assert.equal(
        of("answer_duration_seconds_sum"),
        sum(({ durationMs }) => durationMs / 1000),
      );
      assert.equal(of("output_tokens_per_second_count"), answers.filter(({ durationMs }) => durationMs > 0).length);
      assert.equal([...after].filter(([series, value]) => series.includes("failures") && value > 0).length, 0);
    } finally {
      await model.close();
      await metrics.close();
    }
  });

  it("show the queue, and failures by kind", async () => {
    const metrics = await servedMetrics();
    const model = metrics.measured(await load({ path: gguf({ layers: 150, context: 1024 }), waiting: 1 }));
    try {
      const stop = new AbortController();
      const long = modelRequest({ schema: longAnswer, maxTokens: 400 });
      const asks = [1, 2].map(async () => await model.ask(long, stop.signal).catch(() => null));
      await reaches(metrics, "conclave_model_calls_running", 1);
      await reaches(metrics, "conclave_model_calls_waiting", 1);
      await assert.rejects(model.ask(long, never()));
      stop.abort();
      await Promise.all(asks);
      await reaches(metrics, "conclave_model_calls_running", 0);
      await assert.rejects(model.ask({ ...long, maxTokens: 2 }, never()));
      await assert.rejects(model.ask({ ...long, user: "x ".repeat(5_000) }, never()));
      const after = await metrics.read();
      assert.equal(after.get("conclave_model_calls_waiting"), 0);
      const counted = ["overloaded", "timeout", "truncated", "prompt-too-long"].map((kind) =>
        after.get(failures(kind)),
      );
      assert.deepEqual(counted, [1, 2, 1, 1]);
    } finally {
      await model.close();
      await metrics.close();
    }
  });

  it("count restarts of its process, and the calls that failed without a process", async () => {
    const metrics = await servedMetrics();
    const pids: number[] = [];
    const ends: string[] = [];
    const path = gguf();
    const options = { path, onStart: (pid: number) => pids.push(pid), onEnd: (reason: string) => ends.push(reason) };
    const model = metrics.measured(await load(options));
    try {
      assert.equal((await metrics.read()).get("conclave_model_process_restarts_total"), 0);
      process.kill(pids[0]!, "SIGKILL");
      await reaches(metrics, "conclave_model_process_restarts_total", 1);
      await model.ask(modelRequest(), never());
      const bytes = (await metrics.read()).get("conclave_model_process_memory_bytes") ?? 0;
      assert.ok(bytes > 20 * 2 ** 20 && bytes < 400 * 2 ** 20, String(bytes));
      await writeFile(path, tinyGguf({ seed: 99 }));
      process.kill(pids[1]!, "SIGKILL");
      await until(() => ends.length === 2);
      await assert.rejects(model.ask(modelRequest(), never()), { code: "MODEL_DIGEST_WRONG" });
      assert.equal((await metrics.read()).get(failures("unloadable")), 1);
    } finally {
      await model.close();
    }
    await assert.rejects(model.ask(modelRequest(), never()));
    assert.equal((await metrics.read()).get(failures("crashed")), 1);
    await metrics.close();
  });
});

describe("metrics of a model behind HTTP", () => {
  const says =
    (content: string): Handler =>
    (_, response) =>
      reply(response, 200, completion(content));
  const refuses =
    (status: number, message: string): Handler =>
    (_, response) =>
      reply(response, status, JSON.stringify({ error: { message } }));
  const cases: readonly (readonly [ModelFailureKind | "unreachable", Handler])[] = [
    ["timeout", async () => await new Promise(() => {})],
    ["rate-limit", refuses(429, "slow down")],
    ["prompt-too-long", refuses(400, "maximum context length")],
    ["answer-too-large", (_, response) => stream(response, "x".repeat(2_000_000))],
    ["truncated", (_, response) => reply(response, 200, completion("{", { finish_reason: "length" }))],
    ["unparsable", says("no JSON")],
    ["refused", refuses(401, "who are you")],
    ["unsupported", refuses(400, "response_format is not supported")],
    ["unreachable", refuses(500, "down")],
  ];

  it("count the tokens that a failed call cost, as the budget does", async () => {
    const server = await startOpenAiServer(says("no JSON"));
    const endpoints = [{ provider: "openai", baseUrl: server.url, model: "m" }] as const;
    const metrics = await servedMetrics();
    const hosted = createOpenAiModel({ endpoints, timeoutMs: 60_000, retries: 0, concurrency: 1, waiting: 1 });
    const model = metrics.measured(hosted);
    const budget = createRequestBudget(20_000).open();
    await assert.rejects(model.ask(modelRequest({ budget }), never()), /unparsable/);
    const series = await metrics.read();
    assert.notEqual(budget.spent(), 0);
    assert.equal(series.get("conclave_model_failed_tokens_total"), budget.spent());
    assert.equal(series.get("conclave_model_output_tokens_total"), 0);
    await hosted.close();
    await metrics.close();
    await server.close();
  });

  it("count a failure once, under the name of its kind", async () => {
    for (const [kind, handler] of cases) {
      const server = await startOpenAiServer(handler);
      const endpoints = [{ provider: "openai", baseUrl: server.url, model: "m" }] as const;
      const timeoutMs = kind === "timeout" ? 1_000 : 60_000;
      const options: OpenAiModelOptions = { endpoints, timeoutMs, retries: 0, concurrency: 1, waiting: 1 };
      const metrics = await servedMetrics();
      const model: Model = metrics.measured(createOpenAiModel(options));
      await assert.rejects(model.ask(modelRequest(), never()), kind);
      const counted = [...(await metrics.read())].filter(([series, n]) => series.includes("_failures_total") && n > 0);
      assert.deepEqual(counted, [[failures(kind), 1]]);
      await model.close();
      await metrics.close();
      await server.close();
    }
  });
});

describe("the server of metrics", () => {
  it("serves only /metrics, and nothing after it is closed", async () => {
    const metrics = await servedMetrics();
    try {
      metrics.showAgent(() => ({
        peers: 3,
        seats: 2,
        silentSeats: 1,
        untakenSeats: 3,
        attempts: { decided: 5, hung: 4, unanswerable: 2, tooEarly: 1, left: 3 },
        relays: { committed: 6, already: 7, refused: 8 },
        withheld: 9,
        unread: 6,
        silences: 12,
        chain: { blockNumber: 10n, atMs: 11_500 },
      }));
      const response = await fetch(metrics.url);
      assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
      const expected = {
        conclave_agent_peers: 3,
        conclave_agent_seats: 2,
        conclave_agent_silent_seats: 1,
        conclave_agent_untaken_seats: 3,
        'conclave_agent_attempts_total{outcome="decided"}': 5,
        'conclave_agent_attempts_total{outcome="hung"}': 4,
        'conclave_agent_attempts_total{outcome="unanswerable"}': 2,
        'conclave_agent_attempts_total{outcome="tooEarly"}': 1,
        'conclave_agent_attempts_total{outcome="left"}': 3,
        'conclave_agent_relays_total{outcome="committed"}': 6,
        'conclave_agent_relays_total{outcome="already"}': 7,
        'conclave_agent_relays_total{outcome="refused"}': 8,
        conclave_agent_withheld_signatures_total: 9,
        conclave_agent_unread_answers_total: 6,
        conclave_agent_missing_answers_total: 12,
        conclave_chain_block_number: 10,
        conclave_chain_followed_timestamp_seconds: 11.5,
      };
      // Read twice: counters that the agent keeps are copied, not added up.
      for (let i = 0; i < 2; i++) assert.deepEqual(Object.fromEntries(await readMetrics(metrics.url)), expected);
      assert.equal(await (await fetch(metrics.url, { method: "HEAD" })).text(), "");
      for (const [path, method, status] of [
        ["/", "GET", 404],
        ["/metrics/", "GET", 404],
        ["/metrics", "POST", 405],
        ["/metrics", "DELETE", 405],
        ["/metrics?x=1", "GET", 200],
      ] as const)
        assert.equal((await fetch(new URL(path, metrics.url), { method })).status, status, `${method} ${path}`);
      const many = await Promise.all(Array.from({ length: 70 }, async () => (await fetch(metrics.url)).status));
      assert.ok(many.includes(429), "requests are bounded");
    } finally {
      await metrics.close();
    }
    await assert.rejects(fetch(metrics.url));
  });

  it("refuses a browser's request under another host name, unless it is public", async () => {
    const metrics = createMetrics();
    for (const [isPublic, refused] of [
      [false, 403],
      [true, 200],
    ] as const) {
      const server = await metrics.serve({ host: "127.0.0.1", port: 0, public: isPublic });
      const { port } = new URL(server.url);
      const statusFor = async (host: string): Promise<number | undefined> => {
        const request = get({ port, path: "/metrics", headers: { host } });
        const [response] = (await once(request, "response")) as [IncomingMessage];
        response.resume();
        return response.statusCode;
      };
      for (const host of ["localhost", `127.0.0.1:${port}`, `[::1]:${port}`]) assert.equal(await statusFor(host), 200);
      for (const host of ["evil.example", `127.0.0.1.evil.example:${port}`, "10.0.0.7"])
        assert.equal(await statusFor(host), refused, host);
      await server.close();
    }
  });

  it("serves a scraper while others hold connections and ask for nothing", async () => {
    const metrics = await servedMetrics();
    const { port } = new URL(metrics.url);
    const idle = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const socket = connect(Number(port), "127.0.0.1").on("error", () => {});
        await once(socket, "connect");
        if (index % 2 === 0) socket.write("GET /metrics HTTP/1.1\r\n");
        return socket;
      }),
    );
    assert.equal((await fetch(metrics.url)).status, 200);
    for (const socket of idle) socket.destroy();
    await metrics.close();
  });

  it("counts any other error as our own bug", async () => {
    const metrics = await servedMetrics();
    const error = new ConclaveError("CALIBRATION_WRONG", "Use the table failed", {});
    const ask: Model["ask"] = async () => await Promise.reject(error);
    const state = () => ({ running: 0, waiting: 0, restarts: 0, memoryBytes: 0 });
    const model = metrics.measured({ descriptor: "m", prompts: "general", ask, state, close: async () => {} });
    await assert.rejects(model.ask(modelRequest(), never()), error);
    const counted = [...(await metrics.read())].filter(([series, n]) => series.includes("_failures_total") && n > 0);
    assert.deepEqual(counted, [[failures("bug"), 1]]);
    await metrics.close();
  });

  it("names a port that is taken", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => void taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as AddressInfo;
    await assert.rejects(createMetrics().serve({ host: "127.0.0.1", port, public: false }), {
      code: "NETWORK_FAILED",
      data: { host: "127.0.0.1", port },
      message: /for the metrics failed/,
    });
    taken.close();
  });
});
