import type { ModelRequest } from "../../ports/model.ts";
import { names, type EngineRefusal } from "./openai-refusal.ts";

/**
 * Parts of OpenAI's chat completions that not every server has. A part that a server rejects is not sent to it for a
 * while.
 */
export interface Dialect {
  /** `logprobs: true`: probabilities of the answer's tokens. */
  readonly logprobs: boolean;
  readonly seed: boolean;
  /** `maxLength` in the JSON schema. */
  readonly maxLength: boolean;
  /** `stream_options.include_usage`: token counts at the end of a stream. */
  readonly streamUsage: boolean;
}

interface Provider {
  readonly dialect: Dialect;
  /** Fields added to every request. */
  readonly extra: Readonly<Record<string, unknown>>;
  readonly needsKey: boolean;
  /** Cuts a prompt that does not fit instead of refusing it (Ollama: https://github.com/ollama/ollama/issues/17889). */
  readonly cutsPrompts: boolean;
  /** True if the list (`GET /models`) names all models; other providers may accept further names. */
  readonly listsAll: boolean;
}

const everything: Dialect = { logprobs: true, seed: true, maxLength: true, streamUsage: true };

/**
 * The servers that we know by name, and how they differ. `openai` is any other that speaks the same. A new provider is
 * one entry here.
 */
export const providers = {
  openai: { dialect: everything, extra: {}, needsKey: false, cutsPrompts: false, listsAll: false },
  vllm: { dialect: everything, extra: {}, needsKey: false, cutsPrompts: false, listsAll: true },
  "llama.cpp": { dialect: everything, extra: {}, needsKey: false, cutsPrompts: false, listsAll: false },
  ollama: { dialect: everything, extra: {}, needsKey: false, cutsPrompts: true, listsAll: true },
  // Without it, the request may be routed to a host that ignores the schema.
  openrouter: {
    dialect: everything,
    extra: { provider: { require_parameters: true } },
    needsKey: true,
    cutsPrompts: false,
    listsAll: false,
  },
} as const satisfies Readonly<Record<string, Provider>>;

export type ProviderId = keyof typeof providers;

export const providerIds = Object.keys(providers) as readonly ProviderId[] as readonly [ProviderId, ...ProviderId[]];

const NAMED: readonly (readonly [keyof Dialect, RegExp])[] = [
  ["logprobs", /logprobs/iu],
  ["seed", /\bseed\b/iu],
  ["maxLength", /maxLength/iu],
  ["streamUsage", /stream_options|include_usage/iu],
];

export interface Lack {
  readonly parts: readonly (keyof Dialect)[];
  /** False if the refusal may echo the prompt; the lack then holds for this call alone. */
  readonly isSure: boolean;
}

/** Returns the parts of the dialect that the server's refusal names; null for none. */
export function lackOf(
  dialect: Dialect,
  refusal: EngineRefusal,
  request: Pick<ModelRequest, "system" | "user">,
): Lack | null {
  for (const how of ["surely", "perhaps"] as const) {
    const named = NAMED.filter(([part, words]) => dialect[part] && names(refusal, words, request) === how);
    if (named.length > 0) return { parts: named.map(([part]) => part), isSure: how === "surely" };
  }
  return null;
}

export function without(dialect: Dialect, parts: readonly (keyof Dialect)[]): Dialect {
  return { ...dialect, ...Object.fromEntries(parts.map((part) => [part, false])) };
}
