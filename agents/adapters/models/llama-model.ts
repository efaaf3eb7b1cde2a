import PQueue from "p-queue";

import type { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { Model, ModelRequest, ModelResponse } from "../../ports/model.ts";
import { brokenFile, describeGguf, readGgufHeader } from "./gguf.ts";
import { startLlamaProcess, type LlamaProcess, type WorkerFailure } from "./llama-process.ts";
import type { WorkerOptions } from "./llama-messages.ts";
import { aborted, closed, modelFailed, parseOutput } from "./output.ts";

export interface LlamaModelOptions {
  /** A GGUF file. */
  readonly path: string;
  /** Answers generated at the same time, in one context. */
  readonly sequences: number;
  /** More threads than cores collapse the throughput. */
  readonly threads: number;
  readonly gpu: "auto" | false;
  readonly temperature: number;
  /** Tokens per sequence; absent: what the model was trained for, at most 8192. */
  readonly contextSize?: number | undefined;
  /** A worker process was started, first or again. */
  readonly onStart?: (pid: number) => void;
}

const MAX_WAITING = 256;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 30_000;
/** So often in a row the loader may die on a file before the file counts as broken. */
const LOAD_ATTEMPTS = 2;
const LOAD_TIMEOUT_MS = 600_000;

/**
 * A GGUF model in a process of its own, which is started again when it dies. Resolves once the model is loaded; throws
 * MODEL_FILE_MISSING or MODEL_FILE_BROKEN before, and MODEL_FAILED (crashed) when the engine itself does not work here.
 */
export async function createLlamaModel(options: LlamaModelOptions): Promise<Model> {
  const { path, sequences, threads, gpu, temperature, contextSize = null } = options;
  const header = readGgufHeader(path);
  const descriptor = await describeGguf(path, header);
  const worker: WorkerOptions = { path, sequences, threads, gpu, temperature, contextSize, prompt: header.prompt };
  const supervisor = supervise(worker, descriptor, options.onStart ?? (() => {}));
  await supervisor.process();
  const queue = new PQueue({ concurrency: sequences });

  const run = async (
    request: ModelRequest,
    signal: AbortSignal,
    onToken: ((text: string) => void) | undefined,
  ): Promise<ModelResponse> => {
    const process = await supervisor.process();
    if (signal.aborted) throw aborted(descriptor, signal);
    const startMs = performance.now();
    const maxTokens = Math.min(request.maxTokens, limits.modelOutputTokens);
    const { system, user, schema, seed, confidenceOf } = request;
    const ask = { system, user, schema, seed: seed >>> 0, confidenceOf, maxTokens, stream: onToken !== undefined };
    const result = await process.ask(ask, signal, (text) => (signal.aborted ? undefined : onToken?.(text)));
    if (signal.aborted) throw aborted(descriptor, signal);
    if ("why" in result)
      throw modelFailed(descriptor, result.why === "aborted" ? "timeout" : result.why, result.reason);
    supervisor.succeeded();
    const output = parseOutput(result.text, schema);
    if ("reason" in output) throw modelFailed(descriptor, "unparsable", output.reason);
    const { confidencePpm, promptTokens, outputTokens } = result;
    return {
      fields: output.fields,
      confidencePpm,
      promptTokens,
      outputTokens,
      durationMs: Math.round(performance.now() - startMs),
    };
  };

  return {
    descriptor,
    async ask(request, signal, onToken) {
      if (supervisor.closed()) throw closed(descriptor);
      if (signal.aborted) throw aborted(descriptor, signal);
      if (queue.size >= MAX_WAITING) throw modelFailed(descriptor, "rate-limit", `${MAX_WAITING} calls wait already`);
      // The caller is free at once; the place in the queue only when the generation has stopped.
      const early = whenAborted(signal, () => aborted(descriptor, signal));
      try {
        return await Promise.race([queue.add(async () => await run(request, signal, onToken)), early.promise]);
      } finally {
        early.dispose();
      }
    },
    async close() {
      await supervisor.close();
      await queue.onIdle();
    },
  };
}

interface Supervisor {
  /** The process with the model loaded; waits while it is started again. */
  process(): Promise<LlamaProcess>;
  /** An answer came: the next crash is the first in its row. */
  succeeded(): void;
  closed(): boolean;
  close(): Promise<void>;
}

function supervise(options: WorkerOptions, descriptor: string, onStart: (pid: number) => void): Supervisor {
  const closing = new AbortController();
  let crashes = 0;
  let live: LlamaProcess | null = null;

  const load = async (): Promise<LlamaProcess> => {
    for (let attempt = 1; ; attempt++) {
      if (closing.signal.aborted) throw closed(descriptor);
      live = startLlamaProcess(options);
      onStart(live.pid);
      const process = live;
      const timer = setTimeout(() => process.kill(), LOAD_TIMEOUT_MS);
      const failure = await process.loaded;
      clearTimeout(timer);
      if (failure === null) return watched(process);
      process.kill();
      await process.ended;
      if (closing.signal.aborted) continue;
      if (failure.kind === "unloadable" || attempt >= LOAD_ATTEMPTS) throw loadError(options.path, descriptor, failure);
      await pause(FIRST_PAUSE_MS, closing.signal);
    }
  };

  /** Starts the next process as soon as this one ends, after a pause that grows with each crash in a row. */
  const watched = (process: LlamaProcess): LlamaProcess => {
    const restart = async (): Promise<void> => {
      await process.ended;
      if (closing.signal.aborted) return;
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** crashes++, MAX_PAUSE_MS);
      current = pause(pauseMs, closing.signal).then(load);
      current.catch(() => {});
    };
    void restart();
    return process;
  };

  let current = load();
  current.catch(() => {});
  return {
    process: async () => await current,
    succeeded: () => void (crashes = 0),
    closed: () => closing.signal.aborted,
    async close() {
      closing.abort();
      live?.kill();
      await current.then(async (process) => await process.ended).catch(() => {});
    },
  };
}

function loadError(path: string, descriptor: string, failure: WorkerFailure): ConclaveError {
  if (failure.kind === "died")
    return brokenFile(path, `the loader died on it ${LOAD_ATTEMPTS} times (${failure.reason})`);
  if (failure.what === "model") return brokenFile(path, failure.reason);
  const wayOut = failure.what === "engine" ? "reinstall node-llama-cpp" : "lower contextSize or sequences";
  return modelFailed(descriptor, "crashed", `${failure.reason}; ${wayOut}`);
}

/** Resolves after the time, or at once when the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}

function whenAborted(signal: AbortSignal, error: () => Error): { readonly promise: Promise<never>; dispose(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const listener = (): void => reject(error());
  promise.catch(() => {});
  signal.addEventListener("abort", listener, { once: true });
  return { promise, dispose: () => signal.removeEventListener("abort", listener) };
}
