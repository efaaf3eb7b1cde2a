import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import type { ApiKeyPlace } from "../../adapters/api-key.ts";
import { sourcesConfigSchema, type SourcesConfig } from "../../adapters/source-reader/config.ts";
import { httpPlaceFields, isMeant, notMeant } from "../../adapters/http-place.ts";
import { pinningServiceSchema } from "../../adapters/ipfs/pinning-service.ts";
import { liveConfigSchema } from "../../adapters/live/config.ts";
import { modelConfigSchema, type ModelConfig } from "../../adapters/models/config.ts";
import { ConclaveError } from "../../core/errors.ts";
import {
  chainConfigSchema,
  collectionConfigSchema,
  contentConfigSchema,
  timingConfigSchema,
} from "../../node/config.ts";

/** The agent's folder if none is named. */
export const DEFAULT_DIR = "conclave-agent";
export const CONFIG_FILE = "conclave.json";
export const KEYSTORE_FILE = "keystore.json";

const MAX_FILE_BYTES = 1 << 20;

const multiaddr = z
  .string()
  .max(256)
  .regex(
    /^\/(ip4|ip6|dns|dns4|dns6)\/[^/,\s]+\/tcp\/\d{1,5}$/,
    "expected a multiaddr such as /ip4/203.0.113.7/tcp/4401",
  );

const LISTEN = /^(\[[0-9a-fA-F:.]+\]|[^\s:/]+):\d{1,5}$/;

/** Where /metrics is served, without a password. */
const metricsSchema = z.strictObject(httpPlaceFields).refine(isMeant, notMeant);

/** The config file of an agent; relative paths are relative to its folder. */
const agentConfigSchema = z.strictObject({
  /** Where an editor finds the schema of this file; nothing else reads it. */
  $schema: z.string().max(1_024).optional(),
  chain: chainConfigSchema,
  /** Encrypted key of the signer, which also pays the gas of relaying. */
  keystore: z.string().min(1).default(KEYSTORE_FILE),
  /** Encrypted key of the operator; absent: the signer is its own operator. */
  operatorKeystore: z.string().min(1).optional(),
  model: modelConfigSchema,
  /** Multiaddrs to listen on. */
  listen: z.array(multiaddr).min(1).max(16).default(["/ip4/127.0.0.1/tcp/0"]),
  /** Multiaddrs to publish on chain instead of those listened on, e.g. behind a NAT. */
  announce: z.array(multiaddr).max(8).default([]),
  content: contentConfigSchema.default({ kind: "helia" }),
  /** How the agent reads what questions name. */
  sources: sourcesConfigSchema,
  /** HOST:PORT of a read-only gateway to the agent's blocks; no gateway if absent. */
  gateway: z.string().regex(LISTEN, "expected HOST:PORT such as 127.0.0.1:8080").optional(),
  /** No metrics if absent. */
  metrics: metricsSchema.optional(),
  /** LV4: nobody can watch the agent's committees live if absent. */
  live: liveConfigSchema.optional(),
  timing: timingConfigSchema,
  collection: collectionConfigSchema,
  /** GraphQL endpoint of the deployment's subgraph, for `conclave history`. */
  subgraphUrl: z.url().optional(),
  /** Journals and blocks. */
  dataDir: z.string().min(1).default("data"),
});

/** The fields of a deployment file that are read; others (token, example ...) are for people. */
const deploymentSchema = z.object({
  ...chainConfigSchema.pick({ chainId: true, oracle: true, registry: true, deploymentBlock: true }).shape,
  settlement: chainConfigSchema.shape.oracle.optional(),
  slasher: chainConfigSchema.shape.registry.optional(),
  accessManager: chainConfigSchema.shape.registry.optional(),
  token: chainConfigSchema.shape.registry.optional(),
  rpcUrl: z.url().optional(),
  subgraphUrl: z.url().optional(),
  /** Gateways that have the transcripts. */
  gateways: z
    .array(z.url({ protocol: /^https?$/ }))
    .max(64)
    .optional(),
  /** Which build of the contracts was deployed. */
  buildProfile: z.enum(["production", "default"]).optional(),
});

/** Pinning services by the names that `--service` takes. */
const pinningServicesSchema = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "expected a name of small letters, digits and hyphens"),
  pinningServiceSchema,
);

export type PinningServices = z.infer<typeof pinningServicesSchema>;
export type AgentConfig = z.infer<typeof agentConfigSchema>;
export type AgentChainConfig = AgentConfig["chain"];
export type DeploymentFile = z.infer<typeof deploymentSchema>;

/**
 * Reads and validates the config, and makes every path absolute. Throws CONFIG_MISSING or CONFIG_INVALID that names the
 * field.
 */
export async function loadAgentConfig(path: string): Promise<AgentConfig> {
  const directory = dirname(path);
  const config = checkAgentConfig(await readJson(path, AGENT_FILE), path);
  const { model, operatorKeystore } = config;
  return {
    ...config,
    ...(operatorKeystore === undefined ? {} : { operatorKeystore: resolve(directory, operatorKeystore) }),
    model: withPaths(model, directory),
    sources: withFiles(config.sources, directory),
    keystore: resolve(directory, config.keystore),
    dataDir: resolve(directory, config.dataDir),
  };
}

function withPaths(model: ModelConfig, directory: string): ModelConfig {
  const { calibration } = model;
  const table = calibration === undefined ? {} : { calibration: resolve(directory, calibration) };
  if (model.kind === "llama") return { ...model, ...table, path: resolve(directory, model.path) };
  const withKey = <Server extends ApiKeyPlace>(server: Server): Server => withKeyFile(server, directory);
  return { ...withKey(model), ...table, fallbacks: model.fallbacks.map(withKey) };
}

function withKeyFile<Place extends ApiKeyPlace>(place: Place, directory: string): Place {
  return place.apiKeyFile === undefined ? place : { ...place, apiKeyFile: resolve(directory, place.apiKeyFile) };
}

/** Makes the paths in `sources` absolute. */
export function withFiles({ search, ...sources }: SourcesConfig, directory: string): SourcesConfig {
  const hosts = Object.entries(sources.hosts).map(([host, { ca, ...place }]) => {
    return [host, ca === undefined ? place : { ...place, ca: resolve(directory, ca) }] as const;
  });
  return {
    ...sources,
    hosts: Object.fromEntries(hosts),
    ...(search !== undefined && { search: search.kind === "http" ? withKeyFile(search, directory) : search }),
  };
}

/** EV13: how the agent reads, its own chain by its own RPC unless the config names another one. */
export function withOwnRpc({ sources, chain }: AgentConfig): SourcesConfig {
  return { ...sources, rpcUrls: { [String(chain.chainId)]: chain.rpcUrl, ...sources.rpcUrls } };
}

/** Validates a config; the error names `path`. Throws CONFIG_INVALID. */
export function checkAgentConfig(value: unknown, path: string): AgentConfig {
  return check(agentConfigSchema, value, path);
}

/** Returns the JSON Schema of the config file. What depends on two fields is checked by `checkAgentConfig` alone. */
export function agentConfigJsonSchema(): object {
  return z.toJSONSchema(agentConfigSchema, { io: "input", target: "draft-7" });
}

export async function writeAgentConfig(directory: string, config: AgentConfig): Promise<void> {
  const path = join(directory, CONFIG_FILE);
  await writeFile(path, `${JSON.stringify(config, null, 2)}\n`, { flag: "wx", mode: 0o600 }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw configExists(path);
    throw error;
  });
}

export function configExists(path: string): ConclaveError {
  return new ConclaveError("CONFIG_INVALID", `Create ${path} failed: there is an agent already; choose another --dir`, {
    path,
  });
}

/** Throws CONFIG_MISSING or CONFIG_INVALID that names the field. */
export async function readDeployment(path: string): Promise<DeploymentFile> {
  return readFileOf(deploymentSchema, path, DEPLOYMENT_FILE);
}

/** Throws CONFIG_MISSING or CONFIG_INVALID that names the field. */
export async function readPinningServices(path: string): Promise<PinningServices> {
  return readFileOf(pinningServicesSchema, path, SERVICES_FILE);
}

/** Reads a JSON file of a schema. Throws CONFIG_MISSING or CONFIG_INVALID that names the field. */
export async function readFileOf<Schema extends z.ZodType>(
  schema: Schema,
  path: string,
  kind: FileKind,
): Promise<z.infer<Schema>> {
  return check(schema, await readJson(path, kind), path);
}

/** A kind of file that commands read. */
export interface FileKind {
  readonly name: string;
  /** The option that names such a file, or its folder. */
  readonly option: string;
  /** What to do if it cannot be read. */
  readonly way: string;
}

const AGENT_FILE: FileKind = {
  name: "the agent's config",
  option: "--dir",
  way: "name an agent's folder with --dir, or make an agent with `conclave agent init`",
};
const DEPLOYMENT_FILE: FileKind = {
  name: "the deployment file",
  option: "--deployment",
  way: "name a file that npm run deploy wrote with --deployment",
};
const SERVICES_FILE: FileKind = {
  name: "the pinning services",
  option: "--services",
  way: "name the file of your pinning services with --services",
};

async function readJson(path: string, { name, option, way }: FileKind): Promise<unknown> {
  const data = { path, field: option };
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    const message = `Read ${name} ${path} failed: ${fileTrouble(error)}; ${way}`;
    throw new ConclaveError("CONFIG_MISSING", message, data, error);
  });
  if (text.length > MAX_FILE_BYTES) {
    const message = `Read ${name} ${path} failed: it has more than ${MAX_FILE_BYTES} bytes; mend the file, or ${way}`;
    throw new ConclaveError("CONFIG_INVALID", message, data);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = `Parse ${name} ${path} failed: it is not JSON; mend the file, or ${way}`;
    throw new ConclaveError("CONFIG_INVALID", message, data, error);
  }
}

/** Why a file could not be read, in words. */
export function fileTrouble(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const words = { ENOENT: "it does not exist", EISDIR: "it is a folder", EACCES: "this account may not read it" };
  return words[code as keyof typeof words] ?? message;
}

function check<Schema extends z.ZodType>(schema: Schema, value: unknown, path: string): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") ?? "";
  const isKey = issue?.code === "invalid_key";
  const told = isKey ? `the name is wrong: ${issue.issues[0]?.message ?? issue.message}` : issue?.message;
  const reason = `${isKey ? "" : shownValue(value, issue?.path ?? [])}${told ?? "it is invalid"}`;
  throw new ConclaveError(
    "CONFIG_INVALID",
    `Check ${path} failed at ${field === "" ? "the top level" : field}: ${reason}; correct it`,
    { path, field },
  );
}

/** Returns the wrong value as text, unless it may be a secret, as URLs often hold an API key. A number never is one. */
function shownValue(root: unknown, path: readonly PropertyKey[]): string {
  if (path.length === 0) return "";
  const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), root);
  if (value === undefined) return "it is missing: ";
  if (typeof value === "object") return "";
  const secret = typeof value !== "number" && /url|endpoint|key|password|secret|token/i.test(String(path.at(-1)));
  return secret ? "its value (not shown) is wrong: " : `${JSON.stringify(value).slice(0, 100)} is wrong: `;
}

function isObject(value: unknown): value is Readonly<Record<PropertyKey, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Folder of the evidence in the data directory. */
export const EVIDENCE_FOLDER = "evidence";

/** Folder of the blocks of an agent that keeps them itself. */
export function storeFolder({ dataDir }: Pick<AgentConfig, "dataDir">): string {
  return join(dataDir, "ipfs");
}
