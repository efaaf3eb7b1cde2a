import pRetry from "p-retry";

import type { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { Model, ModelRequest, ModelResponse } from "../../ports/model.ts";
import { ask, Retryable, type Dialect, type Server } from "./openai-http.ts";
import { aborted, closed, modelFailed } from "./output.ts";

export interface OpenAiModelOptions {
  /** Up to and with the version, e.g. `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey?: string | undefined;
  readonly temperature?: number;
  /** For one ask, all attempts and pauses included. */
  readonly timeoutMs: number;
  /** Attempts after the first, for 429, 5xx and broken connections. */
  readonly retries: number;
}

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 8000;
const MAX_RETRY_AFTER_MS = 30_000;

/** Any server that speaks OpenAI's chat completions: vLLM, llama.cpp's server, Ollama, OpenRouter and others. */
export function createOpenAiModel(options: OpenAiModelOptions): Model {
  const { baseUrl, model, apiKey, temperature = 0, timeoutMs, retries } = options;
  const descriptor = `openai:${model.replaceAll(/[^\x21-\x7e]+/gu, "-").slice(0, 100)}`;
  const server: Server = {
    url: new URL(`${baseUrl.replace(/\/+$/u, "")}/chat/completions`),
    model,
    apiKey,
    temperature,
    descriptor,
  };
  const closing = new AbortController();
  /** What this server turned out not to understand is not sent again. */
  let dialect: Dialect = { logprobs: true, maxLength: true };

  return {
    descriptor,
    async ask(request: ModelRequest, signal, onToken): Promise<ModelResponse> {
      if (closing.signal.aborted) throw closed(descriptor);
      if (signal.aborted) throw aborted(descriptor, signal);
      const timeout = AbortSignal.timeout(timeoutMs);
      const either = AbortSignal.any([signal, timeout, closing.signal]);
      const startMs = performance.now();
      const bounded = { ...request, maxTokens: Math.min(request.maxTokens, limits.modelOutputTokens) };
      try {
        const answer = await pRetry(
          async () => await ask(server, bounded, dialect, either, (plainer) => (dialect = plainer)),
          {
            retries,
            minTimeout: FIRST_PAUSE_MS,
            maxTimeout: MAX_PAUSE_MS,
            factor: 2,
            randomize: true,
            signal: either,
            shouldRetry: ({ error }) => error instanceof Retryable,
            onFailedAttempt: async ({ error, retriesLeft }) => {
              if (error instanceof Retryable && retriesLeft > 0)
                await sleep(Math.min(error.retryAfterMs, MAX_RETRY_AFTER_MS), either);
            },
          },
        );
        onToken?.(answer.text);
        const { fields, confidencePpm, promptTokens, outputTokens } = answer;
        return {
          fields,
          confidencePpm,
          promptTokens,
          outputTokens,
          firstTokenMs: Math.round(performance.now() - startMs),
          durationMs: Math.round(performance.now() - startMs),
        };
      } catch (error) {
        if (signal.aborted) throw aborted(descriptor, signal);
        if (closing.signal.aborted) throw closed(descriptor);
        if (timeout.aborted) throw modelFailed(descriptor, "timeout", `no answer within ${timeoutMs} ms`);
        throw error instanceof Retryable ? error.final : (error as ConclaveError);
      }
    },
    close: async () => closing.abort(),
  };
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wake = (): void => resolve();
  signal.addEventListener("abort", wake, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
}
