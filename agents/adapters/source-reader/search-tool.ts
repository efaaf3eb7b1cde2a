// The operator's search tool without the protocol that it speaks, which loads at the first search.
import { ConclaveError } from "../../core/errors.ts";
import { readApiKey } from "../api-key.ts";
import type { SearchConfig } from "./config.ts";

/** The values of the config's environment variables. */
export type Secrets = Readonly<Record<string, string>>;

/** The operator's search tool, with the values of the environment variables that its config names. */
export interface SearchTool {
  readonly config: SearchConfig;
  readonly secrets: Secrets;
  readonly timeoutMs: number;
}

/** Reads the keys that the config of a search names, once. Throws CONFIG_MISSING or CONFIG_INVALID. */
export async function openSearchTool(
  config: SearchConfig,
  timeoutMs: number,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<SearchTool> {
  if (config.kind === "http") {
    const apiKey = await readApiKey(config, "sources.search", environment);
    return { config, timeoutMs, secrets: apiKey === undefined ? {} : { apiKey } };
  }
  const values = config.env.map((name) => {
    const value = environment[name];
    if (value !== undefined) return [name, value] as const;
    const field = "sources.search.env";
    const message = `Read ${field} failed: the environment variable ${name} is not set; set it, or remove its name`;
    throw new ConclaveError("CONFIG_MISSING", message, { field });
  });
  return { config, timeoutMs, secrets: Object.fromEntries(values) };
}
