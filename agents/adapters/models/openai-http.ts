import { z } from "zod";

import { ConclaveError } from "../../core/errors.ts";
import type { ModelRequest } from "../../ports/model.ts";
import { boundedBody, quoted, retryAfterMs } from "../http.ts";
import { confidenceOf, modelFailed, parseOutput, valueRange, type TokenSpan } from "./output.ts";

export interface Server {
  readonly url: URL;
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly temperature: number;
  readonly descriptor: string;
}

/** Parts of the protocol that not every server knows. */
export interface Dialect {
  readonly logprobs: boolean;
  readonly maxLength: boolean;
}

export interface Answer {
  readonly text: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly confidencePpm: number | null;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** A failure that another attempt may not meet; `final` is what the caller gets when it does. */
export class Retryable extends Error {
  readonly final: ConclaveError;
  readonly retryAfterMs: number;

  constructor(final: ConclaveError, waitMs = 0) {
    super(final.message);
    this.final = final;
    this.retryAfterMs = waitMs;
  }
}

const MAX_RESPONSE_BYTES = 1 << 20;

const completionSchema = z.object({
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
        logprobs: z
          .object({ content: z.array(z.object({ token: z.string(), logprob: z.number().nullish() })).nullish() })
          .nullish()
          .catch(null),
      }),
    )
    .min(1),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish().catch(null),
});
type Choice = z.infer<typeof completionSchema>["choices"][number];

/** One attempt. A server that rejects a part of our dialect is asked again at once without it. */
export async function ask(
  server: Server,
  request: ModelRequest,
  dialect: Dialect,
  signal: AbortSignal,
  onPlainer: (dialect: Dialect) => void,
): Promise<Answer> {
  const { status, headers, text } = await post(server, bodyOf(server, request, dialect), signal);
  if (status >= 200 && status < 300) return readCompletion(server, request, text);
  if (status === 400 || status === 422) {
    const plainer = {
      logprobs: dialect.logprobs && !/logprobs/iu.test(text),
      maxLength: dialect.maxLength && !/maxLength/iu.test(text),
    };
    if (plainer.logprobs !== dialect.logprobs || plainer.maxLength !== dialect.maxLength) {
      onPlainer(plainer);
      return await ask(server, request, plainer, signal, onPlainer);
    }
  }
  throw failureOf(server, status, headers, text);
}

function bodyOf(
  { model, temperature }: Server,
  { system, user, schema, maxTokens, seed }: ModelRequest,
  dialect: Dialect,
): string {
  const properties = schema.properties.map(({ name, enum: allowed, maxLength }) => {
    const bounded =
      maxLength === undefined
        ? {}
        : { description: `at most ${maxLength} characters`, ...(dialect.maxLength && { maxLength }) };
    return [name, { type: "string", ...(allowed === undefined ? bounded : { enum: allowed }) }];
  });
  const required = schema.properties.map(({ name }) => name);
  const jsonSchema = {
    type: "object",
    properties: Object.fromEntries(properties),
    required,
    additionalProperties: false,
  };
  return JSON.stringify({
    model,
    messages: [
      { role: "system", content: system },
      { role: "user", content: user },
    ],
    response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema: jsonSchema } },
    max_tokens: maxTokens,
    temperature,
    seed: seed & 0x7fffffff,
    ...(dialect.logprobs && { logprobs: true }),
  });
}

async function post(
  server: Server,
  body: string,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }> {
  const headers = {
    "content-type": "application/json",
    ...(server.apiKey !== undefined && { authorization: `Bearer ${server.apiKey}` }),
  };
  try {
    // A redirect could lead anywhere, the key with it.
    const response = await fetch(server.url, { method: "POST", headers, body, signal, redirect: "error" });
    const text = await boundedBody(response, MAX_RESPONSE_BYTES, () =>
      modelFailed(server.descriptor, "unparsable", `the response has more than ${MAX_RESPONSE_BYTES} bytes`),
    );
    return { status: response.status, headers: response.headers, text: text.toString("utf8") };
  } catch (error) {
    if (error instanceof ConclaveError || signal.aborted) throw error;
    const reason = reasonOf(error);
    throw new Retryable(unreachable(server, reason));
  }
}

function readCompletion({ descriptor }: Server, request: ModelRequest, body: string): Answer {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw modelFailed(descriptor, "unparsable", "the response is not JSON");
  }
  const parsed = completionSchema.safeParse(value);
  const choice = parsed.data?.choices[0];
  if (!parsed.success || choice === undefined)
    throw modelFailed(descriptor, "unparsable", "the response is not a chat completion");
  const { finish_reason: finish, message } = choice;
  if (message.refusal !== undefined && message.refusal !== null)
    throw modelFailed(descriptor, "refused", "the model refused to answer");
  if (finish === "content_filter")
    throw modelFailed(descriptor, "refused", "the server's content filter stopped the answer");
  if (finish === "length")
    throw modelFailed(descriptor, "truncated", `the answer is not complete after ${request.maxTokens} tokens`);
  const text = message.content ?? "";
  const output = parseOutput(text, request.schema);
  if ("reason" in output) throw modelFailed(descriptor, "unparsable", output.reason);
  const confidencePpm = confidenceOf(spansOf(choice, text), valueRange(text, request.schema, request.confidenceOf));
  const { prompt_tokens: promptTokens = 0, completion_tokens: outputTokens = 0 } = parsed.data.usage ?? {};
  return { text, fields: output.fields, confidencePpm, promptTokens, outputTokens };
}

/** The model's own probabilities, without a grammar: a server reports them so. Minus infinity comes as null. */
function spansOf({ logprobs }: Choice, text: string): TokenSpan[] {
  const tokens = logprobs?.content ?? [];
  const all = tokens.map(({ token }) => token).join("");
  // Reasoning or an end mark may stand around the content; where it cannot be placed there is no confidence.
  let position = -all.lastIndexOf(text);
  if (!all.includes(text)) return [];
  return tokens.map(({ token, logprob }) => {
    const start = position;
    position += token.length;
    return { start, end: position, probability: logprob === null || logprob === undefined ? 0 : Math.exp(logprob) };
  });
}

function failureOf(server: Server, status: number, headers: Headers, body: string): Error {
  const { descriptor } = server;
  const said = quote(server, body);
  if (status === 429) {
    return new Retryable(
      modelFailed(descriptor, "rate-limit", `the server limits the rate (429)${said}`),
      retryAfterMs(headers),
    );
  }
  if (status >= 500)
    return new Retryable(unreachable(server, `the server answers ${status}${said}`), retryAfterMs(headers));
  if (status === 401 || status === 403) {
    return modelFailed(
      descriptor,
      "refused",
      `the server refuses the API key (${status})${said}; check apiKeyFile or apiKeyEnv in the config`,
    );
  }
  if (status === 404)
    return modelFailed(descriptor, "refused", `the server has no such model or path (404)${said}; check url and model`);
  return modelFailed(descriptor, "refused", `the server answers ${status}${said}`);
}

function unreachable({ descriptor, url }: Server, reason: string): ConclaveError {
  const message = `Ask model ${descriptor} at ${url.origin} failed: ${reason}; check that the server runs and the url in the config`;
  return new ConclaveError("MODEL_UNREACHABLE", message, { model: descriptor, url: url.origin, reason });
}

/** Only names of errors: a message could contain the request with its headers. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
  if (typeof cause?.code === "string") return cause.code;
  return error instanceof Error ? error.message.slice(0, 100) : "the connection broke";
}

/** What the server says is wrong. */
function quote({ apiKey }: Server, body: string): string {
  let message: unknown;
  try {
    const value = JSON.parse(body) as { error?: { message?: unknown } | string; message?: unknown } | null;
    message = typeof value?.error === "string" ? value.error : (value?.error?.message ?? value?.message);
  } catch {
    message = body;
  }
  if (typeof message !== "string" || message === "") return "";
  return `: ${quoted(message, apiKey)}`;
}
