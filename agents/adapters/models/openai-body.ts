import type { ModelRequest, OutputProperty, OutputSchema } from "../../ports/model.ts";
import { formRules } from "./forms.ts";
import { temperatureOf } from "./sampling.ts";
import { providers, type Dialect, type ProviderId, type Thinking } from "./openai-providers.ts";

export interface Server {
  readonly provider: ProviderId;
  /** URL of the chat completions. */
  readonly url: URL;
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly temperature: number;
  /** Most tokens of thought; if absent, none, or the usual ones of the model once the server has shown that it thinks. */
  readonly thinkingTokens: number | undefined;
  readonly descriptor: string;
}

/** What we know of a server. */
export interface Known {
  readonly dialect: Dialect;
  /** Tokens of thought that a model of its size usually gets; null while it has shown no thoughts. */
  readonly usualThinking: number | null;
}

/** How a call is made. */
export interface Manner extends Known {
  readonly thinking: Thinking;
  /** Texts before the answer are asked for in short. */
  readonly isShort: boolean;
}

/**
 * The bracket with which a model's own marks begin, such as `<|im_end|>`, `<end_of_turn>`, `</s>`, `[INST]` or `[|user|]`. Servers of open
 * models take such text for the mark itself, wherever it stands in a message.
 */
const MARK = /<(?=[|\uff5c/]|[a-z][a-z0-9_]*>)|\[(?=\||\/?[a-z][a-z0-9_]*\])/gi;

/** P1: a prompt's data stand in JSON strings, in which an escape says the same as the bracket, and makes no mark. */
export function withoutMarks(user: string): string {
  return user.replace(MARK, (bracket) => (bracket === "<" ? String.raw`\u003c` : String.raw`\u005b`));
}

/** Most characters of a reasoning that is asked for again because a longer one left no room for the answer. */
const SHORT_TEXT = 64;

/** Returns the request of a try, as JSON. */
export function bodyOf(
  { provider, model, temperature, thinkingTokens }: Server,
  request: ModelRequest,
  { dialect, thinking, isShort }: Manner,
): string {
  const { system, user, maxTokens, seed, isSampled } = request;
  const schema = isShort ? shortSchema(request) : request.schema;
  const strict = { name: "answer", strict: true, schema: jsonSchema(schema, dialect) };
  return JSON.stringify({
    model,
    messages: [
      { role: "system", content: system },
      { role: "user", content: user },
    ],
    response_format: { type: "json_schema", json_schema: strict },
    [dialect.maxTokens ? "max_tokens" : "max_completion_tokens"]: maxTokens + thinking.tokens,
    stream: true,
    ...(dialect.temperature && { temperature: temperatureOf(temperature, isSampled) }),
    ...(dialect.streamUsage && { stream_options: { include_usage: true } }),
    ...(dialect.seed && { seed: seedOf(seed) }),
    ...(dialect.logprobs && { logprobs: true }),
    ...thinkingFields({ provider, thinkingTokens }, thinking, dialect),
    ...providers[provider].extra,
  });
}

/**
 * Returns the fields about thinking. A server whose config names no tokens hears nothing of it before it has shown thoughts: told not to
 * think, its model never would.
 */
export function thinkingFields(
  { provider, thinkingTokens }: Pick<Server, "provider" | "thinkingTokens">,
  thinking: Thinking,
  dialect: Dialect,
): Readonly<Record<string, unknown>> {
  const isSettled = thinkingTokens !== undefined || thinking.isThinker;
  return dialect.thinking && isSettled ? providers[provider].thinking(thinking, dialect) : {};
}

/** Returns a seed below 2^31, as servers want it. */
export function seedOf(seed: number): number {
  return seed & 0x7fffffff;
}

/** Returns the schema with short free texts, but for the answer itself. */
function shortSchema({ schema, confidenceOf: kept }: ModelRequest): OutputSchema {
  const properties = schema.properties.map((property) => {
    const { name, enum: allowed, form, maxLength = Infinity } = property;
    const isFree = allowed === undefined && form === undefined && name !== kept;
    return isFree ? { ...property, maxLength: Math.min(maxLength, SHORT_TEXT) } : property;
  });
  return { properties };
}

function jsonSchema({ properties }: OutputSchema, dialect: Dialect): object {
  return {
    type: "object",
    properties: Object.fromEntries(properties.map((one) => [one.name, { type: "string", ...boundsOf(one, dialect) }])),
    required: properties.map(({ name }) => name),
    additionalProperties: false,
  };
}

function boundsOf({ enum: allowed, form, words: others, maxLength }: OutputProperty, dialect: Dialect): object {
  if (allowed !== undefined) return { enum: allowed };
  if (form !== undefined) {
    // A length beside a pattern is dropped by some engines and refused by others.
    const { words, pattern } = formRules(form, others);
    return { description: words, ...(dialect.pattern ? { pattern } : dialect.maxLength && { maxLength }) };
  }
  if (maxLength === undefined) return {};
  return { description: `at most ${maxLength} characters`, ...(dialect.maxLength && { maxLength }) };
}
