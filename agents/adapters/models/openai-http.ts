import { ConclaveError } from "../../core/errors.ts";
import type { ModelFailureKind, ModelRequest, OutputSchema } from "../../ports/model.ts";
import { quoted, retryAfterMs } from "../http.ts";
import { mostTokens, setAside } from "./budget.ts";
import { plainer, providers, type Dialect, type ProviderId } from "./openai-providers.ts";
import {
  boundedText,
  readCompletion,
  StreamError,
  TooLarge,
  type Completion,
  type LoggedToken,
} from "./openai-stream.ts";
import { confidenceOf, modelFailed, parseOutput, valueRange, type TokenSpan } from "./output.ts";

export interface Server {
  readonly provider: ProviderId;
  /** Of the chat completions. */
  readonly url: URL;
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly temperature: number;
  readonly descriptor: string;
}

export interface Answer {
  readonly fields: Readonly<Record<string, string>>;
  readonly confidencePpm: number | null;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly fingerprint: string | null;
}

/** A failure that another server, or another attempt if `isPassing`, may not meet; `final` is what the caller gets when it does. */
export class Retryable extends Error {
  readonly final: ConclaveError;
  readonly isPassing: boolean;
  readonly retryAfterMs: number;

  constructor(final: ConclaveError, isPassing = true, waitMs = 0) {
    super(final.message);
    this.final = final;
    this.isPassing = isPassing;
    this.retryAfterMs = waitMs;
  }
}

/** The server has not seen the request. */
class NeverSent extends Retryable {}

/** Of a prompt that was read whole: more characters per token are in no language, and shorter prompts are not cut. */
const MAX_CHARACTERS_PER_TOKEN = 8;
const LEAST_CUT_TOKENS = 1000;
const TOO_LONG = /context[ _](length|size|window)|maximum context|exceed_context|prompt is too long|too many tokens/iu;
/** Codes of a connection that never was. */
const NO_CONNECTION =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_.*|.*CERT.*)$/u;
const NO_SCHEMA = /response_format|json_schema|structured output|guided|grammar/iu;

/** One attempt. A server that rejects a part of our dialect is asked again at once without it. */
export async function ask(
  server: Server,
  request: ModelRequest,
  dialect: Dialect,
  signal: AbortSignal,
  onText: (text: string) => void,
  onPlainer: (dialect: Dialect) => void,
): Promise<Answer> {
  const settle = setAside(server.descriptor, request, mostTokens(request));
  const response = await post(server, bodyOf(server, request, dialect), signal).catch((error: unknown) => {
    if (error instanceof NeverSent) settle(0);
    throw error;
  });
  const read = async <Result>(body: Promise<Result>): Promise<Result> => await body.catch(brokenBody(server, signal));
  if (response.ok) {
    const completion = await read(readCompletion(response, onText));
    const usage = completion?.usage ?? null;
    settle(usage === null ? null : usage.prompt_tokens + usage.completion_tokens);
    return answerOf(server, request, completion);
  }
  settle(0);
  const text = await read(boundedText(response));
  const simpler = response.status === 400 || response.status === 422 ? plainer(dialect, text) : null;
  if (simpler === null) throw failureOf(server, response.status, response.headers, text);
  onPlainer(simpler);
  return await ask(server, request, simpler, signal, onText, onPlainer);
}

function bodyOf(
  { provider, model, temperature }: Server,
  { system, user, schema, maxTokens, seed }: ModelRequest,
  dialect: Dialect,
): string {
  const strict = { name: "answer", strict: true, schema: jsonSchema(schema, dialect) };
  return JSON.stringify({
    model,
    messages: [
      { role: "system", content: system },
      { role: "user", content: user },
    ],
    response_format: { type: "json_schema", json_schema: strict },
    max_tokens: maxTokens,
    temperature,
    stream: true,
    ...(dialect.streamUsage && { stream_options: { include_usage: true } }),
    ...(dialect.seed && { seed: seedOf(seed) }),
    ...(dialect.logprobs && { logprobs: true }),
    ...providers[provider].extra,
  });
}

/** Servers want it below 2^31. */
export function seedOf(seed: number): number {
  return seed & 0x7fffffff;
}

function jsonSchema({ properties }: OutputSchema, dialect: Dialect): object {
  const forms = properties.map(({ name, enum: allowed, maxLength }) => {
    const bounded =
      maxLength === undefined
        ? {}
        : { description: `at most ${maxLength} characters`, ...(dialect.maxLength && { maxLength }) };
    return [name, { type: "string", ...(allowed === undefined ? bounded : { enum: allowed }) }];
  });
  return {
    type: "object",
    properties: Object.fromEntries(forms),
    required: properties.map(({ name }) => name),
    additionalProperties: false,
  };
}

async function post(server: Server, body: string, signal: AbortSignal): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    ...(server.apiKey !== undefined && { authorization: `Bearer ${server.apiKey}` }),
  };
  // A redirect could lead anywhere, the key with it.
  const options = { method: "POST", headers, body, signal, redirect: "error" } as const;
  return await fetch(server.url, options).catch(brokenBody(server, signal));
}

/** What it means that a connection, or what came over it, broke. */
function brokenBody(server: Server, signal: AbortSignal): (error: unknown) => never {
  return (error) => {
    if (signal.aborted) throw error;
    if (error instanceof TooLarge) throw modelFailed(server.descriptor, "answer-too-large", error.message);
    if (error instanceof StreamError) throw failureOf(server, error.status, new Headers(), error.body);
    const reason = reasonOf(error);
    throw new (NO_CONNECTION.test(reason) ? NeverSent : Retryable)(unreachable(server, reason));
  };
}

function answerOf(server: Server, request: ModelRequest, completion: Completion | null): Answer {
  const fail = (kind: ModelFailureKind, reason: string): ConclaveError => modelFailed(server.descriptor, kind, reason);
  if (completion === null) throw fail("unparsable", "the response is not a chat completion");
  const { content, refusal, finish, usage, tokens, fingerprint } = completion;
  if (refusal !== null) throw fail("refused", `the model refused to answer${said(server, refusal)}`);
  if (finish === "content_filter") throw fail("refused", "the server's content filter stopped the answer");
  if (finish === "length") throw fail("truncated", `the answer is not complete after ${request.maxTokens} tokens`);
  if (finish === null) throw new Retryable(unreachable(server, "the server broke its answer off"));
  const { prompt_tokens: promptTokens = 0, completion_tokens: outputTokens = 0 } = usage ?? {};
  const characters = request.system.length + request.user.length;
  const isCut = promptTokens >= LEAST_CUT_TOKENS && characters > MAX_CHARACTERS_PER_TOKEN * promptTokens;
  if (providers[server.provider].cutsPrompts && isCut)
    throw fail("prompt-too-long", `the server read only ${promptTokens} tokens of ${characters} characters`);
  const output = parseOutput(content, request.schema);
  if ("reason" in output) throw fail("unparsable", output.reason);
  const range = valueRange(content, request.schema, request.confidenceOf);
  const confidencePpm = confidenceOf(spansOf(tokens, content), range);
  return { fields: output.fields, confidencePpm, promptTokens, outputTokens, fingerprint };
}

/** The model's own probabilities, without a grammar: a server reports them so. Minus infinity comes as null. */
function spansOf(tokens: readonly LoggedToken[], text: string): TokenSpan[] {
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
  const why = said(server, body);
  const fail = (kind: ModelFailureKind, reason: string): ConclaveError => modelFailed(server.descriptor, kind, reason);
  if (status === 429)
    return new Retryable(fail("rate-limit", `the server limits the rate (429)${why}`), true, retryAfterMs(headers));
  if (status >= 500)
    return new Retryable(unreachable(server, `the server answers ${status}${why}`), true, retryAfterMs(headers));
  if (status === 413 || ((status === 400 || status === 422) && TOO_LONG.test(body)))
    return fail("prompt-too-long", `the prompt does not fit into the server's context (${status})${why}`);
  if ((status === 400 || status === 422) && NO_SCHEMA.test(body))
    return new Retryable(
      fail(
        "unsupported",
        `the server cannot hold the model to a JSON schema (${status})${why}; set another one in the config`,
      ),
      false,
    );
  const way = new Map([
    [401, "; check apiKeyFile or apiKeyEnv in the config"],
    [402, "; top the account up"],
    [403, "; check apiKeyFile or apiKeyEnv in the config"],
    [404, "; check url and model in the config"],
  ]).get(status);
  const refused = fail("refused", `the server answers ${status}${why}${way ?? ""}`);
  return way === undefined ? refused : new Retryable(refused, false);
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

/** The message in an error of the server's, quoted. */
function said({ apiKey }: Server, body: string): string {
  let message: unknown;
  try {
    const value = JSON.parse(body) as { error?: { message?: unknown } | string; message?: unknown } | null;
    message = typeof value?.error === "string" ? value.error : (value?.error?.message ?? value?.message);
  } catch {
    message = body;
  }
  return typeof message !== "string" || message === "" ? "" : `: ${quoted(message, apiKey)}`;
}
