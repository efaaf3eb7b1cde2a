import { limits } from "../../core/limits.ts";
import type { Model, ModelRequest, ModelResponse } from "../../ports/model.ts";
import { createCallQueue } from "./call-queue.ts";
import { checkContext, describeGguf, readGgufHeader } from "./gguf.ts";
import type { WorkerOptions } from "./llama-messages.ts";
import { supervise } from "./llama-supervisor.ts";
import { aborted, closed, modelFailed, parseOutput } from "./output.ts";

export interface LlamaModelOptions {
  /** A GGUF file. */
  readonly path: string;
  /** 64 hex digits that the file must have; absent: whatever is there. */
  readonly sha256?: string | undefined;
  /** Answers generated at the same time, in one context. */
  readonly sequences: number;
  /** Calls that may wait for a sequence. */
  readonly waiting: number;
  /** More threads than cores collapse the throughput. */
  readonly threads: number;
  readonly gpu: "auto" | false;
  readonly temperature: number;
  /** Tokens per sequence; absent: what the model was trained for, at most 8192. */
  readonly contextSize?: number | undefined;
  /** A worker process was started, first or again. */
  readonly onStart?: (pid: number) => void;
}

/**
 * A GGUF model in a process of its own, which is started again when it dies. Resolves once the model is loaded; throws
 * MODEL_FILE_MISSING, MODEL_FILE_BROKEN, MODEL_DIGEST_WRONG or MODEL_CONTEXT_TOO_SMALL before, and MODEL_FAILED (crashed)
 * when the engine itself does not work here.
 */
export async function createLlamaModel(options: LlamaModelOptions): Promise<Model> {
  const { path, sequences, threads, gpu, temperature, contextSize = null } = options;
  const header = readGgufHeader(path);
  if (contextSize !== null) checkContext(path, header, contextSize);
  const descriptor = await describeGguf(path, header, options.sha256);
  const worker: WorkerOptions = { path, sequences, threads, gpu, temperature, contextSize, prompt: header.prompt };
  const supervisor = supervise(worker, descriptor, options.onStart ?? (() => {}));
  await supervisor.process();
  const queue = createCallQueue(descriptor, sequences, options.waiting);

  const run = async (
    request: ModelRequest,
    signal: AbortSignal,
    onToken: ((text: string) => void) | undefined,
  ): Promise<Omit<ModelResponse, "firstTokenMs"> & { readonly firstTokenAtMs: number }> => {
    const process = await supervisor.process();
    if (signal.aborted) throw aborted(descriptor, signal);
    const startMs = performance.now();
    const maxTokens = Math.min(request.maxTokens, limits.modelOutputTokens);
    const { system, user, schema, confidenceOf } = request;
    const seed = request.seed >>> 0;
    const ask = { system, user, schema, seed, confidenceOf, maxTokens, stream: onToken !== undefined };
    const result = await process.ask(ask, signal, (text) => (signal.aborted ? undefined : onToken?.(text)));
    if (signal.aborted) throw aborted(descriptor, signal);
    if ("why" in result)
      throw modelFailed(descriptor, result.why === "aborted" ? "timeout" : result.why, result.reason);
    supervisor.succeeded();
    const output = parseOutput(result.text, schema);
    if ("reason" in output) throw modelFailed(descriptor, "unparsable", output.reason);
    const { confidencePpm, promptTokens, outputTokens } = result;
    const { engine, sampling } = process.facts;
    return {
      fields: output.fields,
      confidencePpm,
      origin: { model: descriptor, engine, sampling, seed },
      promptTokens,
      outputTokens,
      firstTokenAtMs: startMs + result.firstTokenMs,
      durationMs: Math.round(performance.now() - startMs),
    };
  };

  return {
    descriptor,
    async ask(request, signal, onToken) {
      if (supervisor.closed()) throw closed(descriptor);
      const askedMs = performance.now();
      const { firstTokenAtMs, ...response } = await queue.run(signal, async () => await run(request, signal, onToken));
      return { ...response, firstTokenMs: Math.round(firstTokenAtMs - askedMs) };
    },
    async close() {
      await supervisor.close();
      await queue.idle();
    },
  };
}
