import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { readGgufHeader } from "../../agents/adapters/models/gguf.ts";
import { startLlamaProcess } from "../../agents/adapters/models/llama-process.ts";
import { probeEngine } from "../../agents/adapters/models/llama-probe.ts";
import type { Model, ModelResponse } from "../../agents/ports/model.ts";
import { llamaModels, longAnswer } from "./fixtures/llama-models.ts";
import { tinyGguf, writeTinyGguf } from "./fixtures/tiny-gguf.ts";
import { failsWith, modelRequest, never } from "./model.suite.ts";
import { until } from "../support/until.ts";

const { directory, gguf, load } = await llamaModels();
/** Hundreds of layers make a long answer last for seconds. */
const slowFile = gguf({ layers: 150, context: 1024 });
/** Other processes slow single calls down; a call that waits for an aborted one is slow each time. */
const FASTEST_OF = 5;

describe("model: llama, process", () => {
  it("really stops an aborted generation, so that the next call has the sequence", async () => {
    const model = await load({ path: slowFile });
    const long = modelRequest({ schema: longAnswer, maxTokens: 400 });
    const short = modelRequest({ schema: { properties: [{ name: "answer", enum: ["a", "b"] }] }, user: "q" });
    const timed = async (run: () => Promise<unknown>): Promise<number> => {
      const startMs = performance.now();
      await run();
      return performance.now() - startMs;
    };
    const fullMs = await timed(
      async () => await assert.rejects(model.ask(long, never()), failsWith("MODEL_FAILED", "truncated")),
    );
    assert.ok(fullMs > 500, `the test's model is too fast: ${fullMs} ms`);
    const nextMs: number[] = [];
    for (let round = 0; round < FASTEST_OF; round++) {
      await assert.rejects(model.ask(long, AbortSignal.timeout(50)), failsWith("MODEL_FAILED", "timeout"));
      nextMs.push(await timed(async () => await model.ask(short, never())));
    }
    assert.ok(Math.min(...nextMs) < fullMs / 2, `${nextMs.join()} of ${fullMs} ms`);
    await model.close();
  });

  it("ends a process that does not stop after an abort, and says that it did so itself", async () => {
    const engine = { sequences: 1, threads: 1, gpu: false, temperature: 0, contextSize: 128 } as const;
    const file = { path: gguf(), prompt: "user-only", thinkingTokens: 0, parameters: 0 } as const;
    const worker = startLlamaProcess({ ...engine, ...file }, 100);
    assert.equal((await worker.loaded).kind, "ready");
    process.kill(worker.pid, "SIGSTOP");
    const { system, user, schema, confidenceOf } = modelRequest();
    const ask = { system, user, schema, confidenceOf, maxTokens: 20, seed: 1, stream: false };
    const answer = await worker.ask(ask, AbortSignal.timeout(10), () => {});
    assert.ok("why" in answer && answer.why === "died", JSON.stringify(answer));
    assert.match(await worker.ended, /^SIGKILL, by this agent: it did not stop within 0\.1 s of an abort$/u);
  });

  it("also stops reading a long prompt, without ending the process", async () => {
    const pids: number[] = [];
    const path = gguf({ layers: 15, context: 2048 });
    const model = await load({ path, onStart: (pid) => pids.push(pid) });
    const user = "x".repeat(2000);
    const startMs = performance.now();
    await assert.rejects(
      model.ask(modelRequest({ user, maxTokens: 12 }), never()),
      failsWith("MODEL_FAILED", "truncated"),
    );
    const fullMs = performance.now() - startMs;
    assert.ok(fullMs > 200, `the test's model is too fast: ${fullMs} ms`);
    const nextMs: number[] = [];
    for (let round = 0; round < FASTEST_OF; round++) {
      await assert.rejects(
        model.ask(modelRequest({ user }), AbortSignal.timeout(20)),
        failsWith("MODEL_FAILED", "timeout"),
      );
      const begunMs = performance.now();
      await assert.rejects(model.ask(modelRequest({ maxTokens: 12 }), never()), failsWith("MODEL_FAILED", "truncated"));
      nextMs.push(performance.now() - begunMs);
    }
    assert.ok(Math.min(...nextMs) < fullMs / 2, `${nextMs.join()} of ${fullMs} ms`);
    assert.equal(pids.length, 1);
    await model.close();
  });

  it("limits the calls that wait; a call that gives up waiting frees its place", async () => {
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

  it("ends each call of a burst with a reason of its own", async () => {
    const model = await load({ path: slowFile });
    const stop = new AbortController();
    const asks = Array.from(
      { length: 300 },
      async () => await model.ask(modelRequest({ schema: longAnswer, maxTokens: 900 }), stop.signal),
    );
    const settled = Promise.allSettled(asks);
    await sleep(50);
    stop.abort();
    const kinds = (await settled).map((result) =>
      result.status === "rejected" ? (result.reason as { data: { kind: string } }).data.kind : "answered",
    );
    assert.equal(kinds.filter((kind) => kind === "overloaded").length, 300 - 257);
    assert.equal(kinds.filter((kind) => kind === "timeout").length, 257);
    await model.close();
  });

  it("is started again when it dies, and repeats the calls in flight", async () => {
    const pids: number[] = [];
    const ends: string[] = [];
    const model = await load({
      path: gguf({ layers: 40 }),
      sequences: 2,
      onStart: (pid) => pids.push(pid),
      onEnd: (reason) => ends.push(reason),
    });
    const kill = (): void => void process.kill(pids.at(-1)!, "SIGSEGV");
    const parts: string[] = [];
    const begun = Promise.withResolvers<void>();
    const streamed = model.ask(modelRequest(), never(), (text) => {
      parts.push(text);
      begun.resolve();
    });
    const beside = model.ask(modelRequest({ seed: 8 }), never());
    const waiting = model.ask(modelRequest({ user: "next" }), never());
    await begun.promise;
    kill();
    const answers = await Promise.all([streamed, beside, waiting]);
    assert.equal(parts.join(""), JSON.stringify(answers[0].fields));
    assert.ok(answers.every(({ fields }) => fields["answer"] !== undefined));
    // Before the kill arrives, a busy machine may have given all answers.
    await until(() => pids.length === 2);
    await model.close();
    assert.equal(ends.length, 1, "an intended end is not counted");
    assert.match(ends[0] ?? "", /^SIGSEGV/u);
    assert.throws(() => process.kill(pids.at(-1)!, 0), { code: "ESRCH" });
  });

  it("fails only a call during which it dies twice", async () => {
    const pids: number[] = [];
    const model = await load({
      path: slowFile,
      sequences: 3,
      onStart: (pid) => pids.push(pid),
    });
    const failing = assert.rejects(
      model.ask(modelRequest({ schema: longAnswer, maxTokens: 900 }), never()),
      failsWith("MODEL_FAILED", "crashed", /SIGSEGV/u),
    );
    /** Kills the process while it answers this call; it also answers the long call then. */
    const killed = async (): Promise<ModelResponse> =>
      await model.ask(modelRequest(), never(), () => {
        if (pids.length === round) process.kill(pids.at(-1)!, "SIGSEGV");
      });
    let round = 1;
    const first = killed();
    await until(() => pids.length === 2);
    round = 2;
    const second = killed();
    for (const answer of [await first, await second]) assert.ok(answer.fields["answer"]);
    await failing;
    assert.equal(pids.length, 3);
    await model.close();
  });

  it("reports what the engine finds on this machine", async () => {
    const { backend, devices, cores, drivers, version } = await probeEngine(never());
    assert.ok(cores > 0);
    assert.match(version, /^\d+\.\d+\.\d+$/);
    if (backend === "cpu") assert.deepEqual(devices, []);
    else assert.ok(devices.length > 0 && drivers.includes(backend));
    // NODE_OPTIONS stands for a password: Node would obey it if the process inherited the environment.
    const heard = join(directory, "heard.cjs");
    await writeFile(heard, "process.exit(7);");
    process.env["NODE_OPTIONS"] = `--require ${heard}`;
    const again = await probeEngine(never()).finally(() => delete process.env["NODE_OPTIONS"]);
    assert.equal(again.backend, backend);
    await assert.rejects(probeEngine(AbortSignal.abort()), failsWith("MODEL_FAILED", "crashed"));
  });

  it(
    "gets no secrets from the environment, and ends with its parent",
    { skip: process.platform !== "linux" },
    async () => {
      const parent = spawn(
        process.execPath,
        [fileURLToPath(new URL("./fixtures/llama-parent.ts", import.meta.url)), gguf()],
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
      await until(isGone);
    },
  );
});

describe("model: llama, files", () => {
  const opens = async (path: string, pids: number[] = []): Promise<Model> =>
    await load({ path, onStart: (pid) => pids.push(pid) });
  const good = tinyGguf({ prompt: "user-only", name: "A name\nwith spaces", version: "1.2" });
  const write = async (content: Uint8Array): Promise<string> => {
    const path = gguf();
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

  it("refuses a model without a chat template, without starting a process", async () => {
    const pids: number[] = [];
    const base = opens(gguf({ prompt: "chat" }), pids);
    await assert.rejects(base, failsWith("MODEL_TEMPLATE_MISSING", undefined, /instruct or chat/u));
    assert.deepEqual(pids, []);
  });

  it("refuses a context longer than the model was trained for", async () => {
    const path = gguf({ context: 512 });
    const tooLong = load({ path, contextSize: 513 });
    await assert.rejects(tooLong, failsWith("MODEL_CONTEXT_TOO_SMALL", undefined, /512 tokens.*513/u));
    const model = await load({ path, contextSize: 512 });
    await model.close();
  });

  it("refuses a context shorter than an answer, set or trained", async () => {
    for (const base of [{ path: gguf(), contextSize: 511 }, { path: gguf({ context: 511 }) }])
      await assert.rejects(load(base), failsWith("MODEL_CONTEXT_TOO_SMALL", undefined, /511 tokens .*512; raise/u));
  });

  it("refuses a file cut at any place without starting a process", async () => {
    const pids: number[] = [];
    const cuts = [0, 3, 4, 8, 20, 24, 60, 200, 1000, 5000, 9000, 10_000, good.length >> 1, good.length - 1];
    for (const cut of cuts) {
      const path = await write(good.subarray(0, cut));
      await assert.rejects(
        opens(path, pids),
        failsWith("MODEL_FILE_BROKEN", undefined, /\.gguf failed: .*(cut short|empty)/u),
        `cut at ${cut}`,
      );
    }
    assert.deepEqual(pids, []);
  });

  it("refuses an absurd header without starting a process", async () => {
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

  it("calls a file broken if the loader refuses it", async () => {
    const pids: number[] = [];
    await assert.rejects(
      opens(gguf({ heads: 7 }), pids),
      failsWith("MODEL_FILE_BROKEN", undefined, /Failed to load model/u),
    );
    assert.equal(pids.length, 1);
  });

  it("calls a file broken if the loader dies on it twice", async () => {
    const pids: number[] = [];
    await assert.rejects(
      opens(gguf({ heads: 0 }), pids),
      failsWith("MODEL_FILE_BROKEN", undefined, /died on it 2 times \(SIGABRT/u),
    );
    assert.equal(pids.length, 2);
  });

  it("does not restart with another file under the old digest, but does with the old file", async () => {
    const path = gguf();
    const pids: number[] = [];
    const ended = Promise.withResolvers<string>();
    const model = await load({ path, onStart: (pid) => pids.push(pid), onEnd: ended.resolve });
    const content = await readFile(path);
    writeTinyGguf(path, { prompt: "user-only", seed: 99 });
    process.kill(pids[0]!, "SIGKILL");
    await ended.promise;
    await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_DIGEST_WRONG"));
    await assert.rejects(model.ask(modelRequest(), never()), failsWith("MODEL_DIGEST_WRONG"));
    assert.equal(pids.length, 1);
    await writeFile(path, content);
    await until(() => pids.length === 2);
    assert.ok((await model.ask(modelRequest(), never())).fields["answer"]);
    await model.close();
  });
});
