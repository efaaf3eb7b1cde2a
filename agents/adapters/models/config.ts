import { z } from "zod";
import { apiKeyFields, hasNoCredentials } from "../api-key.ts";

/** Calls that may wait for a place; further ones fail at once. */
const waiting = z.int().min(0).max(4096).default(256);

/** One node-wide choice: a GGUF file, or a server. */
export const modelConfigSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("llama"),
    /** GGUF file. */
    path: z.string().min(1).max(4096),
    /** Answers generated at the same time. */
    sequences: z.int().min(1).max(64).default(4),
    threads: z.int().min(1).max(256).default(1),
    gpu: z.union([z.literal("auto"), z.literal(false)]).default("auto"),
    temperature: z.number().min(0).max(2).default(0),
    /** Tokens per sequence; absent: what the model was trained for, at most 8192. */
    contextSize: z.int().min(128).max(1_048_576).optional(),
    /** The file's sha256; absent: whatever is there. */
    sha256: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/u, "expected 64 hex digits")
      .optional(),
    waiting,
  }),
  z
    .strictObject({
      kind: z.literal("openai"),
      /** Up to and with the version, e.g. http://127.0.0.1:8000/v1. */
      url: z
        .url({ protocol: /^https?$/u })
        .refine(hasNoCredentials, "must not contain a user or password; use apiKeyFile"),
      model: z.string().min(1).max(200),
      ...apiKeyFields,
      temperature: z.number().min(0).max(2).default(0),
      /** For one answer, all attempts included. */
      timeoutMs: z.int().min(100).max(3_600_000).default(120_000),
      retries: z.int().min(0).max(10).default(3),
    })
    .refine(
      ({ apiKeyFile, apiKeyEnv }) => apiKeyFile === undefined || apiKeyEnv === undefined,
      "give apiKeyFile or apiKeyEnv, not both",
    ),
]);

export type ModelConfig = z.infer<typeof modelConfigSchema>;
