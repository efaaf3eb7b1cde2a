import { ConclaveError } from "../../core/errors.ts";
import type { ModelResponse } from "../../ports/model.ts";
import { probeModel } from "./calibrated-model.ts";
import type { ModelConfig } from "./config.ts";
import { Retryable } from "./openai-http.ts";
import { listOf } from "./openai-list.ts";
import { createOpenAiModel, serverOf, type OpenAiEndpoint } from "./openai-model.ts";
import { providers } from "./openai-providers.ts";
import { modelFailed } from "./output.ts";

type ServerConfig = Extract<ModelConfig, { kind: "openai" }>;

/** Lists the models that a server says it has; null if it has no list. Throws MODEL_UNREACHABLE and MODEL_FAILED. */
export async function listModels(
  endpoint: OpenAiEndpoint,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  const server = serverOf(endpoint, 0, 0);
  const patience = AbortSignal.timeout(timeoutMs);
  try {
    const list = await listOf(server, AbortSignal.any([signal, patience]));
    return list?.map(({ id }) => id) ?? null;
  } catch (error) {
    if (error instanceof Retryable) throw error.final;
    if (error instanceof ConclaveError || !patience.aborted) throw error;
    throw modelFailed(server.descriptor, "timeout", `its list of models is not there after ${timeoutMs} ms`);
  }
}

/** True if the provider's list is complete and does not name the model. */
export function lacksModel({ provider, model }: OpenAiEndpoint, ids: readonly string[]): boolean {
  if (!providers[provider].listsAll) return false;
  // Ollama's names have a tag, which may be left out.
  return !ids.includes(model) && !ids.includes(`${model}:latest`);
}

/** Asks one short question under a schema, once. Throws MODEL_UNREACHABLE and MODEL_FAILED. */
export async function askOnce(
  endpoint: OpenAiEndpoint,
  { temperature, thinkingTokens }: Pick<ServerConfig, "temperature" | "thinkingTokens">,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ModelResponse> {
  const once = { retries: 0, concurrency: 1, waiting: 0 };
  const model = createOpenAiModel({ endpoints: [endpoint], temperature, thinkingTokens, timeoutMs, ...once });
  try {
    return await probeModel(model, signal);
  } finally {
    await model.close();
  }
}
