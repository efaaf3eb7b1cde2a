import type { HostedModel } from "../../ports/model.ts";
import { readApiKey } from "../api-key.ts";
import { calibratedModel } from "./calibrated-model.ts";
import { readCalibration } from "./calibration-table.ts";
import type { ModelConfig } from "./config.ts";
import { describeGguf, digestGguf, readGgufHeader } from "./gguf.ts";
import { createLlamaModel } from "./llama-model.ts";
import { createOpenAiModel, serverOf, type OpenAiEndpoint } from "./openai-model.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type Endpoint = Extract<ModelConfig, { kind: "openai" }>["fallbacks"][number];

/** Events that an operator should hear of. */
export interface ModelEvents {
  /** Receives why the process of an embedded model ended. */
  readonly onEnd?: (reason: string) => void;
  /** CF7: receives, once for each, what made an answer that the calibration table does not belong to. */
  readonly onStrange?: (made: string) => void;
}

/**
 * Creates the model that the config names, calibrated if it names a table; resolves once it is ready. A server is
 * contacted by the first question, or by one that checks a table. Throws what opening throws, and CALIBRATION_WRONG.
 */
export async function createModel(
  config: ModelConfig,
  environment: Environment = process.env,
  { onEnd, onStrange }: ModelEvents = {},
): Promise<HostedModel> {
  const path = config.calibration;
  if (path === undefined) return await openModel(config, environment, onEnd);
  const table = await readCalibration(path);
  const model = await openModel(config, environment, onEnd);
  try {
    return await calibratedModel(model, path, table, onStrange);
  } catch (error) {
    await model.close();
    throw error;
  }
}

/** Returns the descriptor of the model that the config names, without loading it or asking its server. */
export async function descriptorOf(config: ModelConfig): Promise<string> {
  if (config.kind === "llama")
    return describeGguf(readGgufHeader(config.path), await digestGguf(config.path, config.sha256));
  const { provider, url, model } = config;
  return serverOf({ provider, baseUrl: url, model }, config.temperature, config.thinkingTokens).descriptor;
}

async function openModel(
  config: ModelConfig,
  environment: Environment,
  onEnd: ((reason: string) => void) | undefined,
): Promise<HostedModel> {
  switch (config.kind) {
    case "llama":
      return await createLlamaModel({ ...config, onEnd });
    case "openai": {
      const { fallbacks, temperature, thinkingTokens, prompts, timeoutMs, retries, concurrency, waiting } = config;
      const first = await openAiEndpointOf(config, "model", environment);
      const others = await Promise.all(
        fallbacks.map(async (one, index) => await openAiEndpointOf(one, `model.fallbacks.${index}`, environment)),
      );
      return createOpenAiModel({
        endpoints: [first, ...others],
        temperature,
        thinkingTokens,
        prompts,
        timeoutMs,
        retries,
        concurrency,
        waiting,
      });
    }
  }
}

/** Returns a server with its key; `place` names it in the config. Throws CONFIG_MISSING or CONFIG_INVALID. */
export async function openAiEndpointOf(
  one: Endpoint,
  place: string,
  environment: Environment,
): Promise<OpenAiEndpoint> {
  const { provider, url, model } = one;
  return { provider, baseUrl: url, model, apiKey: await readApiKey(one, place, environment) };
}
