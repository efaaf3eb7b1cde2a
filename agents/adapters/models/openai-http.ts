import { ConclaveError } from "../../core/errors.ts";
import type { ModelFailureKind, ModelRequest } from "../../ports/model.ts";
import { bodyText, quoted, retryAfterMs } from "../http.ts";
import { parseJson } from "../json.ts";
import { leastTokens, mostTokens, setAside } from "./budget.ts";
import { bodyOf, seedOf, thinkingFields, type Known, type Manner, type Server } from "./openai-body.ts";
import { lackOf, providers, without, type Dialect, type Thinking } from "./openai-providers.ts";
import { names, readRefusal } from "./openai-refusal.ts";
import {
  boundedText,
  MAX_CHARACTERS_PER_TOKEN,
  readCompletion,
  StreamError,
  TooLarge,
  type Completion,
  type LoggedToken,
} from "./openai-stream.ts";
import { confidenceOf, modelFailed, parseOutput, type TokenSpan } from "./output.ts";
import { temperatureOf } from "./sampling.ts";

/** Takes what a try shows about a server. */
export interface Learn {
  lacks(parts: readonly (keyof Dialect)[]): void;
  /** Returns the tokens of thought that a model of its size usually gets. */
  thinks(): Promise<number>;
}

export interface Answer {
  readonly fields: Readonly<Record<string, string>>;
  readonly confidencePpm: number | null;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly fingerprint: string | null;
  /** The seed that was sent; null if the server does not take one. */
  readonly seed: number | null;
  /** The temperature that was sent; null if the server does not take one. */
  readonly temperature: number | null;
  /** Tokens of thought that the model was given. */
  readonly thinkingTokens: number;
}

/** A failure that another server, or another try if `isPassing`, may avoid; otherwise the caller gets `final`. */
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

/** No server cuts a prompt that is shorter than this. One that has more characters per token was cut. */
const LEAST_CUT_TOKENS = 1000;
const TOO_LONG = /context[ _](length|size|window)|maximum context|exceed_context|prompt is too long|too many tokens/iu;
/** Codes of a connection that was never made: no address, no listener, or an untrusted certificate. */
const NO_CONNECTION =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_.*|ERR_SSL_(WRONG_VERSION_NUMBER|.*HANDSHAKE.*)|UNABLE_TO_.*|.*CERT.*|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED|CRL_.*)$/u;
const NO_SCHEMA = /response_format|json_schema|structured output|guided|grammar/iu;

/**
 * Makes one try. A server that rejects a part of our dialect is asked again at once without it; one whose thoughts or
 * reasoning leave no room for the answer is asked again with more room, without thoughts, or for a shorter reasoning.
 */
export async function ask(
  server: Server,
  request: ModelRequest,
  known: Known,
  signal: AbortSignal,
  begin: () => (text: string) => void,
  learn: Learn,
): Promise<Answer> {
  const { usualThinking } = known;
  const thinking = { tokens: server.thinkingTokens ?? usualThinking ?? 0, isThinker: usualThinking !== null };
  let manner: Manner = { ...known, thinking, isShort: false };
  let [promptTokens, outputTokens] = [0, 0];
  for (;;) {
    const tried = await complete(server, request, manner, signal, begin(), learn).catch((error: unknown) => {
      if (manner.thinking.tokens > 0 && isTooLong(error)) return null;
      throw error;
    });
    if (tried === null) {
      manner = withoutThoughts(manner);
      continue;
    }
    const { completion, dialect } = tried;
    promptTokens += completion?.usage?.prompt_tokens ?? 0;
    outputTokens += completion?.usage?.completion_tokens ?? 0;
    if (completion !== null && completion.thoughtLength !== null)
      manner = { ...manner, usualThinking: await learn.thinks() };
    const next = completion === null ? null : nextManner(server, completion, { ...manner, dialect });
    if (next !== null) {
      manner = next;
      continue;
    }
    const answer = answerOf(server, request, completion, manner);
    const seed = dialect.seed ? seedOf(request.seed) : null;
    const temperature = dialect.temperature ? temperatureOf(server.temperature, request.isSampled) : null;
    return { ...answer, promptTokens, outputTokens, seed, temperature, thinkingTokens: manner.thinking.tokens };
  }
}

function withoutThoughts(manner: Manner): Manner {
  return { ...manner, thinking: { ...manner.thinking, tokens: 0 } };
}

/** The server refused the prompt together with the tokens of thoughts and answer. */
function isTooLong(error: unknown): boolean {
  return error instanceof ConclaveError && error.data["kind"] === "prompt-too-long";
}

/** Returns how to ask again after a completion without an answer; null if there is an answer, or nothing left to try. */
function nextManner(server: Server, completion: Completion, manner: Manner): Manner | null {
  const { content, finish, refusal, thoughtLength } = completion;
  const hasThought = thoughtLength !== null;
  const isCut = finish === "length";
  if (refusal !== null || (!isCut && (content !== "" || !hasThought))) return null;
  const { dialect, thinking, usualThinking } = manner;
  const isThinker = thinking.isThinker || hasThought;
  if (content !== "") {
    if (manner.isShort) return null;
    return { ...manner, isShort: true, thinking: { isThinker, tokens: hasThought ? 0 : thinking.tokens } };
  }
  if (isCut && usualThinking !== null && server.thinkingTokens === undefined && !thinking.isThinker)
    return { ...manner, thinking: { isThinker, tokens: usualThinking } };
  const off = { isThinker, tokens: 0 };
  const fields = (one: Thinking): string => JSON.stringify(thinkingFields(server, one, dialect));
  const canSay = fields(off) !== fields(thinking);
  return (hasThought || thinking.tokens > 0) && canSay ? { ...manner, thinking: off } : null;
}

/** Asks once, and again at once without the parts of our dialect that the server rejects. */
async function complete(
  server: Server,
  request: ModelRequest,
  manner: Manner,
  signal: AbortSignal,
  onText: (text: string) => void,
  learn: Learn,
): Promise<{ readonly completion: Completion | null; readonly dialect: Dialect }> {
  const { dialect, thinking } = manner;
  const mostSpent = mostTokens(request, thinking.tokens);
  const settle = setAside(server.descriptor, request, mostSpent);
  const response = await post(server, request, manner, signal).catch((error: unknown) => {
    if (error instanceof NeverSent) settle(0);
    throw error;
  });
  const read = async <Result>(body: Promise<Result>): Promise<Result> =>
    await body.catch(brokenBody(server, request, signal));
  if (response.ok) {
    const most = request.maxTokens + thinking.tokens;
    const completion = await read(readCompletion(response, { thinking: thinking.tokens, most }, onText));
    const usage = completion?.usage ?? null;
    const least = leastTokens(request, completion?.content ?? "", completion?.thoughtLength ?? 0, mostSpent);
    settle(usage === null ? null : Math.max(usage.prompt_tokens + usage.completion_tokens, least));
    return { completion, dialect };
  }
  settle(0);
  const text = await read(boundedText(response));
  const lack = isBadRequest(response.status) ? lackOf(dialect, readRefusal(text), request) : null;
  if (lack === null) throw httpFailure(server, request, response.status, response.headers, text);
  if (lack.isSure) learn.lacks(lack.parts);
  return await complete(server, request, { ...manner, dialect: without(dialect, lack.parts) }, signal, onText, learn);
}

async function post(server: Server, request: ModelRequest, manner: Manner, signal: AbortSignal): Promise<Response> {
  const headers = { "content-type": "application/json", ...authorization(server) };
  const body = bodyOf(server, request, manner);
  const options = { ...sameOrigin, method: "POST", headers, body, signal };
  return await fetch(server.url, options).catch(brokenBody(server, request, signal));
}

/** A redirect could lead anywhere, with the key, so it counts as a refusal. */
const sameOrigin = { redirect: "manual" } as const;

function authorization({ apiKey }: Server): Readonly<Record<string, string>> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

/** Longest list: a few hundred models with their descriptions. */
const MAX_LIST_BYTES = 1 << 23;

/** Returns the answer to `GET /models`; undefined if it is not JSON. Throws as `ask` does. */
export async function fetchList(server: Server, signal: AbortSignal): Promise<unknown> {
  const prompt = { system: "", user: "" };
  const broken = brokenBody(server, prompt, signal);
  const options = { ...sameOrigin, headers: authorization(server), signal };
  const response = await fetch(new URL("../models", server.url), options).catch(broken);
  const tooLarge = (): Error => new TooLarge(`its list of models has more than ${MAX_LIST_BYTES} bytes`);
  const text = await bodyText(response, MAX_LIST_BYTES, tooLarge).catch(broken);
  if (response.ok) return parseJson(text);
  const { status, headers } = response;
  if (status < 400 || status === 401 || status === 403 || status === 429 || status >= 500)
    throw httpFailure(server, prompt, status, headers, text);
  return undefined;
}

/** The prompt, which a refusal may repeat. */
type Prompt = Pick<ModelRequest, "system" | "user">;

/** Explains a broken connection or a broken body. */
function brokenBody(server: Server, prompt: Prompt, signal: AbortSignal): (error: unknown) => never {
  return (error) => {
    if (signal.aborted) throw error;
    if (error instanceof TooLarge) throw modelFailed(server.descriptor, "answer-too-large", error.message);
    if (error instanceof StreamError) throw httpFailure(server, prompt, error.status, new Headers(), error.body);
    const reason = brokenReason(error);
    throw new (NO_CONNECTION.test(reason) ? NeverSent : Retryable)(unreachable(server, reason));
  };
}

function answerOf(
  server: Server,
  request: ModelRequest,
  completion: Completion | null,
  { thinking, usualThinking }: Manner,
): Pick<Answer, "fields" | "confidencePpm" | "fingerprint"> {
  const fail = (kind: ModelFailureKind, reason: string): ConclaveError => modelFailed(server.descriptor, kind, reason);
  if (completion === null)
    throw fail(
      "unparsable",
      `the response of ${server.url.origin} is not a chat completion; check that the url in the config leads to an OpenAI-compatible server`,
    );
  const { content, refusal, finish, usage, tokens, fingerprint, thoughtLength } = completion;
  if (refusal !== null) throw fail("refused", `the model refused to answer${said(server, refusal)}`);
  if (finish === "content_filter") throw fail("refused", "the server's content filter stopped the answer");
  if (content === "" && (thoughtLength !== null || (finish === "length" && thinking.tokens > 0)))
    throw fail(
      "thinking-too-long",
      `the model thought until its tokens were used up, and said no answer; raise model.thinkingTokens (now ${server.thinkingTokens ?? usualThinking ?? 0}), or turn its thinking off where it is served`,
    );
  if (finish === "length") throw fail("truncated", `the answer is not complete after ${request.maxTokens} tokens`);
  if (finish === null) throw new Retryable(unreachable(server, "the server broke its answer off"));
  const { prompt_tokens: promptTokens = 0 } = usage ?? {};
  const characters = request.system.length + request.user.length;
  const isCut = promptTokens >= LEAST_CUT_TOKENS && characters > MAX_CHARACTERS_PER_TOKEN * promptTokens;
  if (providers[server.provider].cutsPrompts && isCut)
    throw fail("prompt-too-long", `the server read only ${promptTokens} tokens of ${characters} characters`);
  const output = parseOutput(content, request.schema);
  if ("reason" in output) throw fail("unparsable", output.reason);
  const confidencePpm = confidenceOf(spansOf(tokens, content), content, request.schema, request.confidenceOf);
  return { fields: output.fields, confidencePpm, fingerprint };
}

/**
 * Returns the model's own probabilities, which servers report without the grammar's effect. Minus infinity comes as
 * null.
 */
function spansOf(tokens: readonly LoggedToken[], text: string): TokenSpan[] {
  const all = tokens.map(({ token }) => token).join("");
  // Reasoning or an end mark may surround the content; if its place is unclear, there is no confidence.
  let position = -all.lastIndexOf(text);
  if (!all.includes(text)) return [];
  return tokens.map(({ token, logprob }) => {
    const start = position;
    position += token.length;
    return { start, end: position, probability: logprob === null || logprob === undefined ? 0 : Math.exp(logprob) };
  });
}

function isBadRequest(status: number): boolean {
  return status === 400 || status === 422;
}

function httpFailure(server: Server, prompt: Prompt, status: number, headers: Headers, body: string): Error {
  const why = said(server, body);
  const fail = (kind: ModelFailureKind, reason: string): ConclaveError => modelFailed(server.descriptor, kind, reason);
  if (status === 429)
    return new Retryable(fail("rate-limit", `the server limits the rate (429)${why}`), true, retryAfterMs(headers));
  if (status >= 500)
    return new Retryable(unreachable(server, `the server answers ${status}${why}`), true, retryAfterMs(headers));
  const isBad = isBadRequest(status);
  // The words may also echo the prompt; that costs only one more, shorter prompt (P9).
  if (status === 413 || (isBad && TOO_LONG.test(body))) {
    const isSure = status === 413 || names(readRefusal(body), TOO_LONG, prompt) === "surely";
    const reason = `the prompt ${isSure ? "does" : "seems"} not ${isSure ? "" : "to "}fit into the server's context (${status})${why}`;
    return fail("prompt-too-long", reason);
  }
  if (isBad && names(readRefusal(body), NO_SCHEMA, prompt) === "surely")
    return new Retryable(
      fail(
        "unsupported",
        `the server cannot hold the model to a JSON schema (${status})${why}; set another one in the config`,
      ),
      false,
    );
  if (status < 400)
    return new Retryable(
      unreachable(server, `the server redirects elsewhere (${status}), where no key goes along`),
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

/** Names why a connection broke; a message could contain the request with its headers. */
function brokenReason(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
  if (cause?.code === "UND_ERR_SOCKET" || cause?.code === "ECONNRESET")
    return `the connection broke off (${cause.code})`;
  if (typeof cause?.code === "string") return cause.code;
  return error instanceof Error ? error.message.slice(0, 100) : "the connection broke";
}

interface ServerError {
  readonly error?: { readonly message?: unknown } | string;
  readonly message?: unknown;
  /** FastAPI's error (also vLLM's): a text, or what is wrong with each field. */
  readonly detail?: unknown;
}

function detailOf(value: ServerError | null): unknown {
  const detail = value?.detail;
  return Array.isArray(detail) ? (detail[0] as { readonly msg?: unknown } | null)?.msg : detail;
}

/** Quotes the message in a server's error. */
function said({ apiKey }: Server, body: string): string {
  let message: unknown;
  try {
    const value = JSON.parse(body) as ServerError | null;
    message =
      typeof value?.error === "string" ? value.error : (value?.error?.message ?? value?.message ?? detailOf(value));
  } catch {
    message = body;
  }
  return typeof message !== "string" || message === "" ? "" : `: ${quoted(message, apiKey)}`;
}
