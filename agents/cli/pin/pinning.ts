import { dirname, resolve } from "node:path";
import { createPinningService, type PinningService } from "../../adapters/ipfs/pinning-service.ts";
import { readApiKey } from "../../adapters/api-key.ts";
import { ConclaveError } from "../../core/errors.ts";
import { describedBy } from "../../core/encoding/transcript.ts";
import type { Digest } from "../../core/types.ts";
import { parseDuration, usage } from "../shared/arguments.ts";
import type { CliHost, OptionSpec } from "../shared/command.ts";
import { readPinningServices } from "../shared/config.ts";

export interface ServicesFlag {
  readonly services: string;
}

export const servicesFlag: OptionSpec = {
  flags: "--services <file>",
  description: "the pinning services: { NAME: { endpoint, and apiKeyFile or apiKeyEnv } }",
  default: "pinning.json",
};

/** Flags of `conclave pin` that name a service. */
export interface ServiceFlags extends ServicesFlag {
  readonly service?: string;
  readonly wait: string;
}

export const serviceFlags: readonly OptionSpec[] = [
  { flags: "--service <name>", description: "and ask this pinning service to keep it, too" },
  servicesFlag,
  { flags: "--wait <duration>", description: "how long the service may take", default: "10m" },
];

/** A transcript that is kept now, and who else has it. */
export interface Kept {
  readonly root: Digest;
  /** Multiaddrs of nodes that a pinning service may fetch from. */
  readonly origins: readonly string[];
}

type AskService = (
  kept: Kept,
  rootBlock: Uint8Array,
  place: string,
  tell: (line: string) => void,
) => Promise<{ readonly name: string; readonly id: string; readonly created: string }>;

const MAX_WAIT_SECONDS = 86_400;

/**
 * AV8: prepares the service, so that a wrong config or key is reported before anything is fetched; null if no service
 * is named.
 */
export async function prepareService(options: ServiceFlags, host: CliHost): Promise<AskService | null> {
  const { service: name, wait } = options;
  const seconds = parseDuration(wait, "--wait");
  if (seconds > MAX_WAIT_SECONDS) throw usage("--wait", wait, "give a day at most; the command can be repeated");
  if (name === undefined) return null;
  const service = await openPinningService(name, options, host);
  return async ({ root, origins }, rootBlock, place, tell) => {
    tell(`kept in ${place}; asking ${name} to pin it, too`);
    const described = describedBy(rootBlock);
    const title = described === null ? "conclave" : `conclave ${described.chainId} ${described.requestId}`;
    let last = "";
    const onState = (state: string): void => {
      if (state !== last) tell(`${name}: ${state}`);
      last = state;
    };
    const wish = { name: title, origins, patienceMs: 1_000 * seconds, onState };
    const { id, created } = await service.pin(root, wish, host.signal);
    return { name, id, created };
  };
}

/** AV8: opens a service with its key, from a file or the environment. Throws CONFIG_MISSING or CONFIG_INVALID. */
export async function openPinningService(
  name: string | undefined,
  { services: file }: ServicesFlag,
  { cwd, environment }: CliHost,
): Promise<PinningService> {
  const path = resolve(cwd, file);
  const services = await readPinningServices(path);
  const service = name === undefined || !Object.hasOwn(services, name) ? undefined : services[name];
  if (name === undefined || service === undefined) {
    const known = Object.keys(services).join(", ") || "no service: write one into it";
    const message = `Find the pinning service ${JSON.stringify(name ?? "")} in ${path}: the file only names ${known}`;
    throw new ConclaveError("CONFIG_MISSING", message, { path, service: name ?? "" });
  }
  const { endpoint, apiKeyFile, apiKeyEnv } = service;
  const place = apiKeyFile === undefined ? { apiKeyEnv } : { apiKeyFile: resolve(dirname(path), apiKeyFile) };
  const apiKey = await readApiKey(place, name, environment);
  if (apiKey === undefined) throw new Error("the schema asks for one of the two");
  return createPinningService({ name, endpoint, apiKey });
}
