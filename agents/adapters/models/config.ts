import { z } from "zod";

import { PROMPT_SETS } from "../../core/prompts/prompt.ts";

import { apiKeyFields, hasNoCredentials, type ApiKeyPlace } from "../api-key.ts";
import { providerIds, providers, type ProviderId } from "./openai-providers.ts";

/** Calls that may wait for a place; further ones fail at once. */
const waiting = z.int().min(0).max(4096).default(256);

/** P8: tokens of prompts and answers that one request may cost this agent. */
const tokensPerRequest = z.int().min(1000).max(1_000_000_000).default(1_000_000);

/** Most tokens of private thought before an answer; if absent, what docs/models.md says for the model. */
const thinkingTokens = z.int().min(0).max(65_536).optional();

/** A table that `conclave calibrate` wrote; if absent, confidences are as the model gives them. */
const calibration = z.string().min(1).max(4096).optional();

/** P5: the set of prompts to ask with; if absent, the one that a GGUF file names, for servers the general one. */
const prompts = z.enum(PROMPT_SETS).optional();

const llamaSchema = z.strictObject({
  kind: z.literal("llama"),
  /** GGUF file. */
  path: z.string().min(1).max(4096),
  /** Answers generated at the same time. */
  sequences: z.int().min(1).max(64).default(4),
  threads: z.int().min(1).max(256).default(1),
  gpu: z.union([z.literal("auto"), z.literal(false)]).default("auto"),
  temperature: z.number().min(0).max(2).default(0),
  /** Tokens per sequence; if absent, what the model was trained for, at most 8192. */
  contextSize: z.int().min(128).max(1_048_576).optional(),
  /** The sha256 that the file must have; any file if absent. */
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/u, "expected 64 hex digits")
    .optional(),
  prompts,
  calibration,
  thinkingTokens,
  waiting,
  tokensPerRequest,
});

function endsInPath(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed === null || (parsed.search === "" && parsed.hash === "");
}

const serverFields = {
  provider: z.enum(providerIds).default("openai"),
  /** The URL up to and with the version, e.g. http://127.0.0.1:8000/v1. */
  url: z
    .url({ protocol: /^https?$/u })
    .refine(hasNoCredentials, "must not contain a user or password; use apiKeyFile")
    .refine(
      endsInPath,
      "must end with its path, as paths are added to it: no query and no fragment; a key goes into apiKeyFile",
    ),
  /** The model's name on the server. */
  model: z.string().min(1).max(200),
  ...apiKeyFields,
};

const openAiSchema = withKey(
  z.strictObject({
    kind: z.literal("openai"),
    ...serverFields,
    /** Servers to ask if the ones before do not answer. They have to serve the same model. */
    fallbacks: z
      .array(withKey(z.strictObject(serverFields)))
      .max(8)
      .default([]),
    temperature: z.number().min(0).max(2).default(0),
    /** Time for one answer, with all tries. */
    timeoutMs: z.int().min(100).max(3_600_000).default(120_000),
    retries: z.int().min(0).max(10).default(3),
    /** Calls at the same time. */
    concurrency: z.int().min(1).max(256).default(8),
    prompts,
    calibration,
    thinkingTokens,
    waiting,
    tokensPerRequest,
  }),
).superRefine(({ calibration: table, fallbacks, ...first }, context) => {
  if (table === undefined) return;
  for (const [index, other] of fallbacks.entries())
    for (const field of ["provider", "model"] as const) {
      if (other[field] === first[field]) continue;
      // CF7: a table belongs to one provider and model.
      const message = `${JSON.stringify(other[field])} is not ${JSON.stringify(first[field])}, and a calibration table is of one provider and model; give the same, or remove the fallback or model.calibration`;
      context.addIssue({ code: "custom", path: ["fallbacks", index, field], message });
    }
});

/** The node's model: a GGUF file, or a server and its fallbacks. */
export const modelConfigSchema = z.discriminatedUnion("kind", [llamaSchema, openAiSchema]);

export type ModelConfig = z.infer<typeof modelConfigSchema>;

interface Keyed extends ApiKeyPlace {
  readonly provider: ProviderId;
}

function withKey<Schema extends z.ZodType<Keyed>>(schema: Schema): Schema {
  const isOne = ({ apiKeyFile, apiKeyEnv }: Keyed): boolean => apiKeyFile === undefined || apiKeyEnv === undefined;
  const isThere = ({ provider, apiKeyFile, apiKeyEnv }: Keyed): boolean =>
    !providers[provider].needsKey || (apiKeyFile ?? apiKeyEnv) !== undefined;
  return schema
    .refine(isOne, "give apiKeyFile or apiKeyEnv, not both")
    .refine(isThere, { path: ["apiKeyFile"], error: "this provider wants a key: give apiKeyFile or apiKeyEnv" });
}
