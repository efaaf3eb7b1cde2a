import { dirname, resolve } from "node:path";
import { createPinningService, type PinningService } from "../adapters/ipfs/pinning-service.ts";
import { readApiKey } from "../adapters/api-key.ts";
import { ConclaveError } from "../core/errors.ts";
import type { CliHost, OptionSpec } from "./command.ts";
import { readPinningServices } from "./config.ts";

export interface ServicesFlag {
  readonly services: string;
}

export const servicesFlag: OptionSpec = {
  flags: "--services <file>",
  description: "the pinning services: { NAME: { endpoint, and apiKeyFile or apiKeyEnv } }",
  default: "pinning.json",
};

/** AV8: with its key, which is in a file or in the environment. Throws CONFIG_MISSING or CONFIG_INVALID. */
export async function openPinningService(
  name: string | undefined,
  { services: file }: ServicesFlag,
  { cwd, environment }: CliHost,
): Promise<PinningService> {
  const path = resolve(cwd, file);
  const services = await readPinningServices(path);
  const service = name === undefined ? undefined : services[name];
  if (name === undefined || service === undefined) {
    const known = Object.keys(services).join(", ");
    throw new ConclaveError("CONFIG_MISSING", `Find the pinning service in ${path}: name one of ${known}`, { path });
  }
  const { endpoint, apiKeyFile, apiKeyEnv } = service;
  const place = apiKeyFile === undefined ? { apiKeyEnv } : { apiKeyFile: resolve(dirname(path), apiKeyFile) };
  const apiKey = await readApiKey(place, name, environment);
  if (apiKey === undefined) throw new Error("the schema asks for one of the two");
  return createPinningService({ name, endpoint, apiKey });
}
