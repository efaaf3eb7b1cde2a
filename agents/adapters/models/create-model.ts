import { readFile } from "node:fs/promises";

import { ConclaveError } from "../../core/errors.ts";
import type { Model } from "../../ports/model.ts";
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
        apiKey: await readApiKey(config, environment),
      });
    }
  }
}

async function readApiKey(
  { apiKeyFile, apiKeyEnv }: Extract<ModelConfig, { kind: "openai" }>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  if (apiKeyEnv !== undefined) {
    const key = environment[apiKeyEnv]?.trim();
    if (key === undefined || key === "")
      throw keyMissing(`the environment variable ${apiKeyEnv} is not set`, "apiKeyEnv");
    return checked(key, "apiKeyEnv");
  }
  if (apiKeyFile === undefined) return undefined;
  const content = await readFile(apiKeyFile, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw keyMissing(`the file ${apiKeyFile} cannot be read (${cause.code ?? "unknown"})`, "apiKeyFile");
  });
  if (content.trim() === "") throw keyMissing(`the file ${apiKeyFile} is empty`, "apiKeyFile");
  return checked(content.trim(), "apiKeyFile");
}

/** Whatever else stands there would make fetch fail with a message that shows it. */
function checked(key: string, field: string): string {
  if (/^[\x21-\x7e]{1,1000}$/u.test(key)) return key;
  throw new ConclaveError(
    "CONFIG_INVALID",
    `Read the API key of model.${field} failed: it is not one line of printable ASCII`,
    { field: `model.${field}` },
  );
}

function keyMissing(reason: string, field: string): ConclaveError {
  return new ConclaveError(
    "CONFIG_MISSING",
    `Read the API key of model.${field} failed: ${reason}; put the key there or remove the field`,
    {
      field: `model.${field}`,
    },
  );
}
