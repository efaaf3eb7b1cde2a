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
  readonly temperature: boolean;
  /** `max_tokens`; OpenAI's own models that think want it to be called `max_completion_tokens`. */
  readonly maxTokens: boolean;
  /** `maxLength` in the JSON schema. */
  readonly maxLength: boolean;
  /** `pattern` in the JSON schema. */
  readonly pattern: boolean;
  /** `stream_options.include_usage`: token counts at the end of a stream. */
  readonly streamUsage: boolean;
  /** The fields that turn thinking on and off. */
  readonly thinking: boolean;
  /** vLLM's `thinking_token_budget`. */
  readonly thinkingBudget: boolean;
}

/** How much a model may think in a try. */
export interface Thinking {
  /** 0: not at all. */
  readonly tokens: number;
  /** Whether the server has shown thoughts. Those that refuse what a model cannot do hear of thinking only then. */
  readonly isThinker: boolean;
}

interface Provider {
  readonly dialect: Dialect;
  /** Fields added to every request. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Fields that say how much the model may think. */
  readonly thinking: (thinking: Thinking, dialect: Dialect) => Readonly<Record<string, unknown>>;
  readonly needsKey: boolean;
  /** Cuts a prompt that does not fit instead of refusing it (Ollama: https://github.com/ollama/ollama/issues/17889). */
  readonly cutsPrompts: boolean;
  /** True if the list (`GET /models`) names all models; other providers may accept further names. */
  readonly listsAll: boolean;
}

const everything: Dialect = {
  logprobs: true,
  seed: true,
  temperature: true,
  maxTokens: true,
  maxLength: true,
  pattern: true,
  streamUsage: true,
  thinking: true,
  thinkingBudget: true,
};

/** The switch of chat templates, which vLLM, SGLang and llama.cpp hand on. */
const templateSwitch = ({ tokens }: Thinking): Readonly<Record<string, unknown>> => ({
  chat_template_kwargs: { enable_thinking: tokens > 0 },
});

/**
 * The servers that we know by name, and how they differ. `openai` is any other that speaks the same. A new provider is
 * one entry here.
 */
export const providers = {
  openai: {
    dialect: everything,
    extra: {},
    thinking: (thinking) => (thinking.isThinker ? templateSwitch(thinking) : {}),
    needsKey: false,
    cutsPrompts: false,
    listsAll: false,
  },
  vllm: {
    dialect: everything,
    extra: {},
    thinking: (thinking, { thinkingBudget }) => ({
      ...templateSwitch(thinking),
      ...(thinkingBudget && thinking.tokens > 0 && { thinking_token_budget: thinking.tokens }),
    }),
    needsKey: false,
    cutsPrompts: false,
    listsAll: true,
  },
  "llama.cpp": {
    dialect: everything,
    extra: {},
    thinking: templateSwitch,
    needsKey: false,
    cutsPrompts: false,
    listsAll: false,
  },
  ollama: {
    dialect: everything,
    extra: {},
    thinking: ({ tokens, isThinker }) => (isThinker && tokens === 0 ? { reasoning_effort: "none" } : {}),
    needsKey: false,
    cutsPrompts: true,
    listsAll: true,
  },
  // Without it, the request may be routed to a host that ignores the schema.
  openrouter: {
    dialect: everything,
    extra: { provider: { require_parameters: true } },
    thinking: ({ tokens, isThinker }) => {
      if (tokens > 0) return { reasoning: { max_tokens: tokens } };
      return isThinker ? { reasoning: { enabled: false } } : {};
    },
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
  // Elsewhere these words are about their values.
  ["temperature", /'temperature' (?:is not supported|does not support)/iu],
  ["maxTokens", /'max_tokens' is not supported/iu],
  ["maxLength", /maxLength/iu],
  ["pattern", /\bpattern\b/iu],
  ["streamUsage", /stream_options|include_usage/iu],
  ["thinking", /chat_template_kwargs|enable_thinking|\breasoning(?:_effort)?\b/iu],
  ["thinkingBudget", /thinking_token_budget|reasoning_config/iu],
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
