import PQueue from "p-queue";

import { limits } from "../../core/limits.ts";
import type { PromptSet } from "../../core/prompts/prompt.ts";
import type { HostedModel, ModelFailureKind, ModelRequest, ModelResponse } from "../../ports/model.ts";
import { mostTokens, setAside } from "./budget.ts";
import { createCallQueue } from "./call-queue.ts";
import { checkContext, checkTemplate, describeGguf, digestGguf, readGgufHeader } from "./gguf.ts";
import type { EngineFacts, Answered, WorkerAsk } from "./llama-messages.ts";
import type { CallFailure } from "./llama-process.ts";
import { supervise, type Supervisor } from "./llama-supervisor.ts";
import { aborted, closed, modelFailed, parseOutput, resumable } from "./output.ts";
import { samplingOf, temperatureOf } from "./sampling.ts";

export interface LlamaModelOptions {
  /** A GGUF file. */
  readonly path: string;
  /** The sha256 that the file must have, as 64 hex digits; any file if absent. */
  readonly sha256?: string | undefined;
  /** Answers generated at the same time, in one context. */
  readonly sequences: number;
  /** Calls that may wait for a sequence. */
  readonly waiting: number;
  /** Threads; more than there are cores collapse the throughput. */
  readonly threads: number;
  readonly gpu: "auto" | false;
  readonly temperature: number;
  /** Tokens per sequence; if absent, what the model was trained for, at most 8192. */
  readonly contextSize?: number | undefined;
  /** Most tokens of thought before an answer; if absent, what is usual for the model's size, if it thinks. */
  readonly thinkingTokens?: number | undefined;
  /** P5: the set of prompts to ask with; if absent, the one that the file names. */
  readonly prompts?: PromptSet | undefined;
  /** Runs when a worker process was started, the first or a later one. */
  readonly onStart?: (pid: number) => void;
  /** Runs with the reason when a worker with a loaded model ended by itself; another one is started. */
  readonly onEnd?: ((reason: string) => void) | undefined;
}

type TokenListener = (text: string) => void;

interface Try {
  readonly result: Answered | CallFailure;
  readonly startMs: number;
  readonly facts: EngineFacts;
}

interface Timed {
  readonly response: Omit<ModelResponse, "firstTokenMs">;
  readonly firstTokenAtMs: number;
}

const KINDS: Readonly<Record<CallFailure["why"], ModelFailureKind>> = {
  "prompt-too-long": "prompt-too-long",
  truncated: "truncated",
  crashed: "crashed",
  died: "crashed",
  aborted: "timeout",
};

/**
 * Creates a GGUF model in its own process, which is started again if it dies. Resolves once the model is loaded. Throws
 * MODEL_FILE_MISSING, MODEL_FILE_BROKEN, MODEL_TEMPLATE_MISSING, MODEL_CONTEXT_TOO_SMALL, MODEL_DIGEST_WRONG or
 * CONFIG_INVALID, and MODEL_FAILED (crashed) if the engine does not work here.
 */
export async function createLlamaModel(options: LlamaModelOptions): Promise<HostedModel> {
  const { path, sequences, threads, gpu, temperature, contextSize = null, thinkingTokens = null } = options;
  const header = readGgufHeader(path);
  checkTemplate(path, header);
  checkContext(path, header, options);
  const sha256 = await digestGguf(path, options.sha256);
  const descriptor = describeGguf(header, sha256);
  const { prompt, parameters } = header;
  const worker = { path, sequences, threads, gpu, temperature, contextSize, prompt, thinkingTokens, parameters };
  // The file is checked before each start, so that what answers under a digest always has that digest.
  const checkFile = async (): Promise<void> => void (await digestGguf(path, sha256));
  let starts = 0;
  const onStart = (pid: number): void => {
    starts++;
    options.onStart?.(pid);
  };
  const supervisor = supervise(worker, descriptor, checkFile, onStart, options.onEnd ?? (() => {}));
  let { memoryBytes } = (await supervisor.process()).facts;
  const queue = createCallQueue(descriptor, sequences, options.waiting);
  const answer = createTries(supervisor, descriptor);

  const run = async (
    request: ModelRequest,
    signal: AbortSignal,
    onToken: TokenListener | undefined,
  ): Promise<Timed> => {
    const maxTokens = Math.min(request.maxTokens, limits.modelOutputTokens);
    const { system, user, schema, confidenceOf, isSampled } = request;
    const seed = request.seed >>> 0;
    const stream = onToken !== undefined;
    const ask = { system, user, schema, seed, confidenceOf, ...(isSampled && { isSampled }), maxTokens, stream };
    const onText = (text: string): void => (signal.aborted ? undefined : onToken?.(text));
    const { result, startMs, facts } = await answer(ask, request, signal, onText);
    if ("why" in result) throw modelFailed(descriptor, KINDS[result.why], result.reason);
    supervisor.succeeded();
    ({ memoryBytes } = result);
    const output = parseOutput(result.text, schema);
    if ("reason" in output) throw modelFailed(descriptor, "unparsable", output.reason);
    const { confidencePpm, promptTokens, outputTokens } = result;
    const { engine } = facts;
    const sampling = samplingOf(temperatureOf(temperature, isSampled), facts.thinkingTokens);
    const response = {
      fields: output.fields,
      confidencePpm,
      origin: { model: descriptor, engine, sampling, seed },
      promptTokens,
      outputTokens,
      durationMs: Math.round(performance.now() - startMs),
    };
    return { response, firstTokenAtMs: startMs + result.firstTokenMs };
  };

  return {
    descriptor,
    prompts: options.prompts ?? header.prompts,
    async ask(request, signal, onToken) {
      if (supervisor.closed()) throw closed(descriptor);
      const askedMs = performance.now();
      const work = async (): Promise<Timed> => await run(request, signal, onToken);
      const { response, firstTokenAtMs } = await queue.run(signal, work);
      return { ...response, firstTokenMs: Math.round(firstTokenAtMs - askedMs) };
    },
    state: () => ({ ...queue.load(), restarts: starts - 1, memoryBytes }),
    async close() {
      await supervisor.close();
      await queue.idle();
    },
  };
}

type Answer = (
  ask: WorkerAsk,
  budget: Pick<ModelRequest, "budget">,
  signal: AbortSignal,
  onText: (text: string) => void,
) => Promise<Try>;

/** Repeats a call once if the process dies during it. */
function createTries(supervisor: Supervisor, descriptor: string): Answer {
  /** One of these calls may have killed the process: repeated one by one, it cannot kill the others again. */
  const suspects = new PQueue({ concurrency: 1 });

  const askOnce: Answer = async (ask, budget, signal, onText) => {
    const process = await supervisor.process();
    if (signal.aborted) throw aborted(descriptor, signal);
    const { thinkingTokens, contextSize } = process.facts;
    const settle = setAside(descriptor, budget, Math.min(mostTokens(ask, thinkingTokens), contextSize));
    const startMs = performance.now();
    const result = await process.ask(ask, signal, onText);
    settle(costOf(result));
    if (signal.aborted) throw aborted(descriptor, signal);
    return { result, startMs, facts: process.facts };
  };

  return async (ask, budget, signal, onText) => {
    const begin = resumable(onText);
    const first = await askOnce(ask, budget, signal, begin());
    if (!("why" in first.result) || first.result.why !== "died" || supervisor.closed()) return first;
    return await suspects.add(async () => await askOnce(ask, budget, signal, begin()));
  };
}

/** Returns the cost of a try; null if it broke off. */
function costOf(result: Answered | CallFailure): number | null {
  if (!("why" in result)) return result.promptTokens + result.outputTokens;
  return result.why === "prompt-too-long" ? 0 : null;
}
