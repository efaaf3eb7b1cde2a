import { readFile } from "node:fs/promises";
import { z } from "zod";
import { ConclaveError } from "../core/errors.ts";

/** The name of an environment variable. */
export const environmentName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/u);

/** Fields that say where a key is; a key never stands in a config file or on a command line. */
export const apiKeyFields = {
  /** File whose content is the API key. */
  apiKeyFile: z.string().min(1).max(4096).optional(),
  /** Name of the environment variable that holds the API key. */
  apiKeyEnv: environmentName.optional(),
};

export interface ApiKeyPlace {
  readonly apiKeyFile?: string | undefined;
  readonly apiKeyEnv?: string | undefined;
}

export function hasNoCredentials(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed === null || (parsed.username === "" && parsed.password === "");
}

/**
 * Reads the key; errors name `owner`, the part of the config that names the key. Throws CONFIG_MISSING or
 * CONFIG_INVALID.
 */
export async function readApiKey(
  { apiKeyFile, apiKeyEnv }: ApiKeyPlace,
  owner: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  if (apiKeyEnv !== undefined) {
    const key = environment[apiKeyEnv]?.trim();
    const field = `${owner}.apiKeyEnv`;
    if (key === undefined || key === "") throw keyMissing(`the environment variable ${apiKeyEnv} is not set`, field);
    return checked(key, field);
  }
  if (apiKeyFile === undefined) return undefined;
  const field = `${owner}.apiKeyFile`;
  const content = await readFile(apiKeyFile, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw keyMissing(`the file ${apiKeyFile} cannot be read (${cause.code ?? "unknown"})`, field);
  });
  if (content.trim() === "") throw keyMissing(`the file ${apiKeyFile} is empty`, field);
  return checked(content.trim(), field);
}

/** Checks the key's characters: with others fetch would fail with a message that shows the key. */
function checked(key: string, field: string): string {
  if (/^[\x21-\x7e]{1,4000}$/u.test(key)) return key;
  throw new ConclaveError(
    "CONFIG_INVALID",
    `Read the API key of ${field} failed: it is not one line of printable ASCII`,
    { field },
  );
}

function keyMissing(reason: string, field: string): ConclaveError {
  return new ConclaveError(
    "CONFIG_MISSING",
    `Read the API key of ${field} failed: ${reason}; put the key there or remove the field`,
    { field },
  );
}
