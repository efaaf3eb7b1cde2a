import pRetry from "p-retry";

import type { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { PromptSet } from "../../core/prompts/prompt.ts";
import type { HostedModel, ModelRequest, ModelResponse } from "../../ports/model.ts";
import { sleepUnlessEnded } from "../chain/backoff.ts";
import { createCallQueue } from "./call-queue.ts";
import { createEndpoints, type ServerReply, type Endpoints } from "./openai-endpoints.ts";
import { withoutMarks, type Server } from "./openai-body.ts";
import { Retryable } from "./openai-http.ts";
import type { ProviderId } from "./openai-providers.ts";
import { aborted, closed, modelFailed, resumable } from "./output.ts";

export interface OpenAiEndpoint {
  readonly provider: ProviderId;
  /** The URL up to and with the version, e.g. `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string;
  /** The model's name on the server. */
  readonly model: string;
  readonly apiKey?: string | undefined;
}

export interface OpenAiModelOptions {
  /** Servers of one model, the preferred one first; the others are fallbacks. */
  readonly endpoints: readonly [OpenAiEndpoint, ...OpenAiEndpoint[]];
  readonly temperature?: number;
  /** Most tokens of thought; if absent, none, or the usual ones of the model once a server has shown that it thinks. */
  readonly thinkingTokens?: number | undefined;
  /** P5: the set of prompts to ask with; general if absent. */
  readonly prompts?: PromptSet | undefined;
  /** Time for one call, with all tries and the sleep between them. */
  readonly timeoutMs: number;
  /** Tries after the first, for 429, 5xx and broken connections. */
  readonly retries: number;
  /** Calls at the same time, and calls that may wait. */
  readonly concurrency: number;
  readonly waiting: number;
}

const FIRST_SLEEP_MS = 250;
const LONGEST_SLEEP_MS = 8000;
const MAX_RETRY_AFTER_MS = 30_000;
/**
 * Retries that all calls together may save up; each call earns a part of one, so that few calls ask a broken server
 * again.
 */
const RETRIES_SAVED = 10;
const RETRIES_PER_CALL = 0.2;

/**
 * Creates a model from any server that speaks OpenAI's chat completions: vLLM, llama.cpp's server, Ollama, OpenRouter
 * and others.
 */
export function createOpenAiModel(options: OpenAiModelOptions): HostedModel {
  const { temperature = 0, thinkingTokens, timeoutMs } = options;
  const servers = options.endpoints.map((endpoint) => serverOf(endpoint, temperature, thinkingTokens));
  const { descriptor } = servers[0] as Server;
  const endpoints = createEndpoints(servers);
  const queue = createCallQueue(descriptor, options.concurrency, options.waiting);
  const closing = new AbortController();
  const tries = createTries(endpoints, options.retries);

  const run = async (request: ModelRequest, signal: AbortSignal, onText: (text: string) => void): Promise<Timed> => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const either = AbortSignal.any([signal, timeout, closing.signal]);
    const startMs = performance.now();
    const maxTokens = Math.min(request.maxTokens, limits.modelOutputTokens);
    const bounded = { ...request, user: withoutMarks(request.user), maxTokens };
    const begin = resumable(onText);
    let firstTokenAtMs: number | null = null;
    try {
      const answer = await tries(bounded, either, () => {
        const show = begin();
        return (text) => {
          firstTokenAtMs ??= performance.now();
          show(text);
        };
      });
      const endMs = performance.now();
      return { ...answer, firstTokenAtMs: firstTokenAtMs ?? endMs, durationMs: Math.round(endMs - startMs) };
    } catch (error) {
      if (signal.aborted) throw aborted(descriptor, signal);
      if (closing.signal.aborted) throw closed(descriptor);
      if (timeout.aborted) throw modelFailed(descriptor, "timeout", `no answer within ${timeoutMs} ms`);
      throw error instanceof Retryable ? error.final : (error as ConclaveError);
    }
  };

  return {
    descriptor,
    prompts: options.prompts ?? "general",
    async ask(request, signal, onToken): Promise<ModelResponse> {
      if (closing.signal.aborted) throw closed(descriptor);
      const askedMs = performance.now();
      const onText = (text: string): void => (signal.aborted ? undefined : onToken?.(text));
      const answer = await queue.run(signal, async () => await run(request, signal, onText));
      const { fields, confidencePpm, promptTokens, outputTokens, durationMs, server, seed } = answer;
      const thoughts = answer.thinkingTokens === 0 ? "" : ` thinking=${answer.thinkingTokens}`;
      const engine = [server.provider, answer.fingerprint].filter((part) => part !== null).join(" ");
      const heat = `temperature=${answer.temperature ?? "default"}`;
      return {
        fields,
        confidencePpm,
        origin: { model: server.descriptor, engine: visibleAscii(engine), sampling: `${heat}${thoughts}`, seed },
        promptTokens,
        outputTokens,
        firstTokenMs: Math.round(answer.firstTokenAtMs - askedMs),
        durationMs,
      };
    },
    state: () => ({ ...queue.load(), restarts: 0, memoryBytes: 0 }),
    async close() {
      closing.abort();
      await queue.idle();
    },
  };
}

type Tries = (request: ModelRequest, signal: AbortSignal, begin: () => (text: string) => void) => Promise<ServerReply>;

/** Makes the tries of a call, as far as its own retries and those of all calls allow; `begin` runs before each text. */
function createTries(endpoints: Endpoints, retries: number): Tries {
  let savedRetries = RETRIES_SAVED;
  const mayRetry = (error: unknown): boolean => {
    if (!(error instanceof Retryable) || !error.isPassing || savedRetries < 1) return false;
    savedRetries--;
    return true;
  };
  return async (request, signal, begin) => {
    savedRetries = Math.min(RETRIES_SAVED, savedRetries + RETRIES_PER_CALL);
    return await pRetry(async () => await endpoints.ask(request, signal, begin), {
      retries,
      minTimeout: FIRST_SLEEP_MS,
      maxTimeout: LONGEST_SLEEP_MS,
      factor: 2,
      randomize: true,
      signal,
      shouldRetry: async ({ error, retriesLeft }) => {
        if (retriesLeft === 0 || !mayRetry(error)) return false;
        await sleepUnlessEnded(Math.min((error as Retryable).retryAfterMs, MAX_RETRY_AFTER_MS), signal);
        return true;
      },
    });
  };
}

interface Timed extends ServerReply {
  readonly firstTokenAtMs: number;
  readonly durationMs: number;
}

export function serverOf(
  { provider, baseUrl, model, apiKey }: OpenAiEndpoint,
  temperature: number,
  thinkingTokens: number | undefined,
): Server {
  const url = new URL(`${baseUrl.replace(/\/+$/u, "")}/chat/completions`);
  return {
    provider,
    url,
    model,
    apiKey,
    temperature,
    thinkingTokens,
    descriptor: `openai:${visibleAscii(model).replaceAll(" ", "-")}`,
  };
}

/** Makes a text visible ASCII, since it goes into transcripts and on the chain. */
function visibleAscii(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]+/gu, "-").slice(0, 100);
}
