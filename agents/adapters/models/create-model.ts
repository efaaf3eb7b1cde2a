import type { Model } from "../../ports/model.ts";
import { readApiKey } from "../api-key.ts";
import type { ModelConfig } from "./config.ts";
import { createLlamaModel } from "./llama-model.ts";
import { createOpenAiModel } from "./openai-model.ts";

/** The model that the config names; resolves when it is ready to be asked (a server is not contacted before the first question). */
export async function createModel(
  config: ModelConfig,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Model> {
  switch (config.kind) {
    case "llama":
      return await createLlamaModel(config);
    case "openai": {
      const { url, model, temperature, timeoutMs, retries } = config;
      return createOpenAiModel({
        baseUrl: url,
        model,
        temperature,
        timeoutMs,
        retries,
        apiKey: await readApiKey(config, "model", environment),
      });
    }
  }
}
