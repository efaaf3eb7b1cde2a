/** Parts of OpenAI's chat completions that not every server has. What a server turns out not to understand is not sent to it again. */
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
  /** Added to every request. */
  readonly extra: Readonly<Record<string, unknown>>;
  readonly needsKey: boolean;
  /** Cuts a prompt that does not fit instead of refusing it (Ollama: https://github.com/ollama/ollama/issues/17889). */
  readonly cutsPrompts: boolean;
}

const everything: Dialect = { logprobs: true, seed: true, maxLength: true, streamUsage: true };

/** Every server we know by name, and how it differs. `openai` is any other that speaks the same. */
export const providers = {
  openai: { dialect: everything, extra: {}, needsKey: false, cutsPrompts: false },
  vllm: { dialect: everything, extra: {}, needsKey: false, cutsPrompts: false },
  "llama.cpp": { dialect: everything, extra: {}, needsKey: false, cutsPrompts: false },
  ollama: { dialect: everything, extra: {}, needsKey: false, cutsPrompts: true },
  // Without it, the request may be routed to a host that ignores the schema.
  openrouter: {
    dialect: everything,
    extra: { provider: { require_parameters: true } },
    needsKey: true,
    cutsPrompts: false,
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

/** The dialect without what the server's refusal names; null when that changes nothing. */
export function plainer(dialect: Dialect, refusal: string): Dialect | null {
  const named = NAMED.filter(([part, name]) => dialect[part] && name.test(refusal));
  if (named.length === 0) return null;
  return { ...dialect, ...Object.fromEntries(named.map(([part]) => [part, false])) };
}
