import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { readGgufHeader } from "../../agents/adapters/models/gguf.ts";
import { grammarOf } from "../../agents/adapters/models/grammar.ts";
import { createLlamaModel, type LlamaModelOptions } from "../../agents/adapters/models/llama-model.ts";
import type { Model, ModelResponse, OutputSchema } from "../../agents/ports/model.ts";
import { tinyGguf, writeTinyGguf, type TinyGguf } from "./fixtures/tiny-gguf.ts";
import { failsWith, modelRequest, modelSuite, never, type ModelHarness } from "./model.suite.ts";

const directory = await mkdtemp(join(tmpdir(), "conclave-llama-"));
after(async () => await rm(directory, { recursive: true }));

let files = 0;
function gguf(options: TinyGguf = {}): string {
  const path = join(directory, `${files++}.gguf`);
  writeTinyGguf(path, { prompt: "user-only", ...options });
  return path;
}

const loaded: Model[] = [];
after(async () => await Promise.all(loaded.map(async (model) => await model.close())));

async function load(options: Partial<LlamaModelOptions> = {}): Promise<Model> {
  const path = options.path ?? gguf();
  const model = await createLlamaModel({
    sequences: 1,
    waiting: 256,
    threads: 1,
    gpu: false,
    temperature: 0,
    ...options,
    path,
  });
  loaded.push(model);
  return model;
}

/** Hundreds of layers make a long answer last for seconds. */
const slowFile = gguf({ layers: 150, context: 1024 });
const longAnswer: OutputSchema = { properties: [{ name: "answer", enum: ["x".repeat(2000)] }] };

/** A model whose every answer is long. */
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
  ["llama, chat template, T 0.8", { prompt: "chat" }, { sequences: 2, temperature: 0.8 }],
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

  // Batched arithmetic rounds differently, so this holds where the model is sure, not at the near-ties of random weights.
  it("answers among others as alone, but for rounding, where the model is sure", async () => {
    const path = join(import.meta.dirname, "../../models/conclave-small.gguf");
    const one = await load({ path });
    const many = await load({ path, sequences: 4, temperature: 0 });
    const users = [29, 33, 41, 45, 58, 61, 76, 80].map(
      (age) =>
        `task: propose\nkind: boolean\nquestion: "Policy: (1) driver at least 37; (2) only if premium paid. Facts: age ${age}, paid. Is the damage covered?"`,
    );
    const alone: ModelResponse[] = [];
    for (const user of users) alone.push(await one.ask(modelRequest({ user }), never()));
    const together = await Promise.all(users.map(async (user) => await many.ask(modelRequest({ user }), never())));
    for (const [i, { fields, confidencePpm }] of together.entries()) {
      assert.deepEqual(fields, alone[i]!.fields);
      assert.ok(Math.abs(confidencePpm! - alone[i]!.confidencePpm!) <= 20);
    }
    await Promise.all([one.close(), many.close()]);
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

  it("is certain of what the grammar forces", async () => {
    const model = await load();
    const { confidencePpm } = await model.ask(
      modelRequest({ schema: { properties: [{ name: "answer", enum: ["only"] }] } }),
      never(),
    );
    assert.equal(confidencePpm, 1_000_000);
    await model.close();
  });

  it("says what made the answer: model, engine, sampling and seed", async () => {
    const model = await load({ temperature: 0.5 });
    const { origin, firstTokenMs, durationMs } = await model.ask(modelRequest({ seed: -1 }), never());
    assert.equal(origin?.model, model.descriptor);
    assert.match(origin.engine, /^node-llama-cpp@\d+\.\d+\.\d+ llama\.cpp@\S+ cpu$/u);
    assert.deepEqual([origin.sampling, origin.seed], ["temperature=0.5 top_k=40", 2 ** 32 - 1]);
    assert.ok(firstTokenMs > 0 && firstTokenMs <= durationMs, `${firstTokenMs} of ${durationMs} ms`);
    await model.close();
  });

  it("shows a character of several tokens once it is whole", async () => {
    const model = await load({ path: gguf({ unicode: true }) });
    const parts: string[] = [];
    const schema = { properties: [{ name: "answer", enum: ["\u{1f600} \u00e9\u4e2d"] }] };
    const { fields, outputTokens, confidencePpm } = await model.ask(modelRequest({ schema }), never(), (text) =>
      parts.push(text),
    );
    assert.equal(JSON.stringify(fields), parts.join(""));
    assert.ok(
      parts.every((part) => part.isWellFormed() && !part.includes("\ufffd")),
      JSON.stringify(parts),
    );
    assert.ok(parts.includes("\u{1f600}") && parts.length < outputTokens);
    assert.equal(confidencePpm, 1_000_000);
    await model.close();
  });

  it("says when the answer or the prompt does not fit", async () => {
    const model = await load({ path: gguf({ context: 256 }) });
    await assert.rejects(
      model.ask(modelRequest({ maxTokens: 20 }), never()),
      failsWith("MODEL_FAILED", "truncated", /after 20 tokens/u),
    );
    await assert.rejects(
      model.ask(modelRequest({ user: "x".repeat(300) }), never()),
      failsWith("MODEL_FAILED", "prompt-too-long", /301 tokens.*256/u),
    );
    await assert.rejects(
      model.ask(modelRequest({ user: "x".repeat(9999) }), never()),
      failsWith("MODEL_FAILED", "prompt-too-long", /characters/u),
    );
    assert.ok((await model.ask(modelRequest(), never())).fields["answer"]);
    await model.close();
  });

  it("has a grammar without spaces, in the order of the schema", () => {
    const grammar = grammarOf({ properties: [{ name: "b", enum: ['x"\\'] }, { name: "a" }] });
    assert.equal(
      grammar.split("\n")[0],
      String.raw`root ::= "{\"b\":" ("\"x\\\"\\\\\"") ",\"a\":" "\"" character* "\"" "}"`,
    );
  });
});

describe("model: llama, process", () => {
  it("really stops an aborted generation, so that the next call has the sequence", async () => {
    const model = await load({ path: slowFile });
    const long = modelRequest({ schema: longAnswer, maxTokens: 400 });
    const short = modelRequest({ schema: { properties: [{ name: "answer", enum: ["a"] }] }, user: "q" });
    const timed = async (run: () => Promise<unknown>): Promise<number> => {
      const startMs = performance.now();
      await run();
      return performance.now() - startMs;
    };
    const fullMs = await timed(
      async () => await assert.rejects(model.ask(long, never()), failsWith("MODEL_FAILED", "truncated")),
    );
    assert.ok(fullMs > 500, `the test's model is too fast: ${fullMs} ms`);
    await assert.rejects(model.ask(long, AbortSignal.timeout(50)), failsWith("MODEL_FAILED", "timeout"));
    const nextMs = await timed(async () => await model.ask(short, never()));
    assert.ok(nextMs < fullMs / 2, `${nextMs} of ${fullMs} ms`);
    await model.close();
  });

  it("stops reading a long prompt, too, and without ending the process", async () => {
    const pids: number[] = [];
    const path = gguf({ layers: 15, context: 2048 });
    const model = await load({ path, onStart: (pid) => pids.push(pid) });
    const user = "x".repeat(2000);
    const startMs = performance.now();
    await assert.rejects(
      model.ask(modelRequest({ user, maxTokens: 1 }), never()),
      failsWith("MODEL_FAILED", "truncated"),
    );
    const fullMs = performance.now() - startMs;
    assert.ok(fullMs > 200, `the test's model is too fast: ${fullMs} ms`);
    await assert.rejects(
      model.ask(modelRequest({ user }), AbortSignal.timeout(20)),
      failsWith("MODEL_FAILED", "timeout"),
    );
    const nextMs = performance.now();
    await assert.rejects(model.ask(modelRequest({ maxTokens: 1 }), never()), failsWith("MODEL_FAILED", "truncated"));
    assert.ok(performance.now() - nextMs < fullMs / 2, `${performance.now() - nextMs} of ${fullMs} ms`);
    assert.equal(pids.length, 1);
    await model.close();
  });

  it("bounds the calls that wait, and a call that gives up waiting leaves its place", async () => {
    const model = await load({ path: slowFile, waiting: 2 });
    const asked = (signal: AbortSignal): Promise<ModelResponse> =>
      model.ask(modelRequest({ schema: longAnswer, maxTokens: 400 }), signal);
    const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()] as const;
    const running = assert.rejects(asked(first.signal), failsWith("MODEL_FAILED", "timeout"));
    const waiting = assert.rejects(asked(second.signal), failsWith("MODEL_FAILED", "timeout"));
    const last = assert.rejects(asked(third.signal), failsWith("MODEL_FAILED", "timeout"));
    await assert.rejects(asked(never()), failsWith("MODEL_FAILED", "overloaded", /2 calls wait/u));
    second.abort();
    await waiting;
    const another = assert.rejects(asked(third.signal), failsWith("MODEL_FAILED", "timeout"));
    await assert.rejects(asked(never()), failsWith("MODEL_FAILED", "overloaded"));
    first.abort();
    third.abort();
    await Promise.all([running, last, another]);
    await model.close();
  });

  it("ends a burst of calls, each with a reason of its own", async () => {
    const model = await load({ path: slowFile });
    const stop = new AbortController();
    const asks = Array.from(
      { length: 300 },
      async () => await model.ask(modelRequest({ schema: longAnswer }), stop.signal),
    );
    const settled = Promise.allSettled(asks);
    await sleep(50);
    stop.abort();
    const outcomes = (await settled).map((result) =>
      result.status === "rejected" ? (result.reason as { data: { kind: string } }).data.kind : "answered",
    );
    assert.equal(outcomes.filter((kind) => kind === "overloaded").length, 300 - 257);
    assert.equal(outcomes.filter((kind) => kind === "timeout").length, 257);
    await model.close();
  });

  it("is started again after a native crash, which fails the calls in flight and no other", async () => {
    const pids: number[] = [];
    const model = await load({ path: slowFile, onStart: (pid) => pids.push(pid) });
    for (let round = 1; round <= 2; round++) {
      const inFlight = model.ask(modelRequest({ schema: longAnswer, maxTokens: 500 }), never());
      const waiting = model.ask(modelRequest({ user: "next" }), never());
      setTimeout(() => process.kill(pids.at(-1)!, "SIGSEGV"), 60);
      await assert.rejects(inFlight, failsWith("MODEL_FAILED", "crashed", /SIGSEGV/u));
      assert.ok((await waiting).fields["answer"]);
      assert.equal(pids.length, round + 1);
    }
    await model.close();
    assert.throws(() => process.kill(pids.at(-1)!, 0), { code: "ESRCH" });
  });

  it(
    "gets no secrets from the environment, and ends with its parent",
    { skip: process.platform !== "linux" },
    async () => {
      const parent = spawn(
        process.execPath,
        [fileURLToPath(new URL("fixtures/llama-parent.ts", import.meta.url)), gguf()],
        {
          stdio: ["ignore", "pipe", "inherit"],
          env: { ...process.env, CONCLAVE_PASSWORD: "hunter2" },
        },
      );
      let output = "";
      parent.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
      while (!output.includes("loaded")) await once(parent.stdout, "data");
      const worker = Number.parseInt(output, 10);
      const environment = await readFile(`/proc/${worker}/environ`, "utf8");
      assert.ok(environment.includes("PATH=") && !environment.includes("hunter2"));
      parent.kill("SIGKILL");
      const isGone = async (): Promise<boolean> =>
        await readFile(`/proc/${worker}/stat`, "utf8").then(
          (stat) => / Z /u.test(stat),
          () => true,
        );
      for (let i = 0; i < 100 && !(await isGone()); i++) await sleep(30);
      assert.ok(await isGone());
    },
  );
});

describe("model: llama, files", () => {
  const opens = async (path: string, pids: number[] = []): Promise<Model> =>
    await load({ path, onStart: (pid) => pids.push(pid) });
  const good = tinyGguf({ name: "A name\nwith spaces", version: "1.2" });
  const write = async (content: Uint8Array): Promise<string> => {
    const path = join(directory, `${files++}.gguf`);
    await writeFile(path, content);
    return path;
  };

  it("describes a model by name, version and hash, in printable characters", async () => {
    const model = await opens(await write(good));
    assert.match(model.descriptor, /^A-name-with-spaces@1\.2 sha256:[0-9a-f]{16}$/u);
    await model.close();
    assert.deepEqual(readGgufHeader(await write(tinyGguf({ name: " \n" }))).version, null);
  });

  it("names the missing file", async () => {
    await assert.rejects(
      opens(join(directory, "absent.gguf")),
      failsWith("MODEL_FILE_MISSING", undefined, /absent\.gguf.*ENOENT/u),
    );
    await assert.rejects(opens(directory), failsWith("MODEL_FILE_MISSING", undefined, /not a file/u));
  });

  it("loads only the file that has the digest of the config", async () => {
    const path = await write(good);
    const sha256 = createHash("sha256").update(good).digest("hex");
    const model = await load({ path, sha256: sha256.toUpperCase() });
    await model.close();
    const wrong = load({ path, sha256: "ab".repeat(32) });
    await assert.rejects(wrong, failsWith("MODEL_DIGEST_WRONG", undefined, new RegExp(`${sha256}, not (ab){32}`, "u")));
  });

  it("refuses a context that the model was not trained for", async () => {
    const path = gguf({ context: 512 });
    const tooLong = load({ path, contextSize: 513 });
    await assert.rejects(tooLong, failsWith("MODEL_CONTEXT_TOO_SMALL", undefined, /512 tokens.*513/u));
    const model = await load({ path, contextSize: 512 });
    await model.close();
  });

  it("refuses a file cut at any place without starting a process", async () => {
    const pids: number[] = [];
    const cuts = [0, 3, 4, 8, 20, 24, 60, 200, 1000, 5000, 9000, 10_000, good.length >> 1, good.length - 1];
    for (const cut of cuts) {
      const path = await write(good.subarray(0, cut));
      await assert.rejects(
        opens(path, pids),
        failsWith("MODEL_FILE_BROKEN", undefined, /\.gguf failed: .*cut short/u),
        `cut at ${cut}`,
      );
    }
    assert.deepEqual(pids, []);
  });

  it("refuses a header that is not sane without starting a process", async () => {
    const pids: number[] = [];
    const changed = (at: number, value: bigint): Uint8Array => {
      const bytes = Buffer.from(good);
      bytes.writeBigUInt64LE(value, at);
      return bytes;
    };
    const cases: [Uint8Array, RegExp][] = [
      [Buffer.from("<!DOCTYPE html><html>a page instead of a model</html>"), /not a GGUF/u],
      [changed(4, 99n | (11n << 32n)), /version 99/u],
      [changed(8, 2n ** 63n), /not a sane length/u],
      [changed(8, 100_000n), /100000 tensors/u],
      [changed(8, 0n), /no tensors/u],
      [changed(16, 5000n), /5000 metadata entries/u],
      [changed(24, 2n ** 40n), /bytes of a text/u],
    ];
    for (const [content, text] of cases)
      await assert.rejects(opens(await write(content), pids), failsWith("MODEL_FILE_BROKEN", undefined, text));
    assert.deepEqual(pids, []);
  });

  it("calls a file broken that the loader refuses", async () => {
    const pids: number[] = [];
    await assert.rejects(
      opens(gguf({ heads: 7 }), pids),
      failsWith("MODEL_FILE_BROKEN", undefined, /Failed to load model/u),
    );
    assert.equal(pids.length, 1);
  });

  it("calls a file broken on which the loader dies twice", async () => {
    const pids: number[] = [];
    await assert.rejects(
      opens(gguf({ heads: 0 }), pids),
      failsWith("MODEL_FILE_BROKEN", undefined, /died on it 2 times \(SIGABRT/u),
    );
    assert.equal(pids.length, 2);
  });

  it("calls a file broken that turns bad while the model runs", async () => {
    const path = gguf();
    const pids: number[] = [];
    const model = await opens(path, pids);
    writeTinyGguf(path, { heads: 0 });
    process.kill(pids[0]!, "SIGKILL");
    await sleep(50);
    await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_FILE_BROKEN"));
    await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_FILE_BROKEN"));
    assert.equal(pids.length, 3);
    await model.close();
  });
});
