import { z } from "zod";

import { bodyText, boundedChunks } from "../http.ts";
import { parseJson } from "../json.ts";
import { AnswerText } from "./answer-text.ts";

/** A server's answer to one request, as it came. */
export interface Completion {
  /** Without thoughts; empty if it is no JSON object. */
  readonly content: string;
  /** Characters of thought that it showed; null if it had none. */
  readonly thoughtLength: number | null;
  readonly refusal: string | null;
  /** Why the answer ended; null if it broke off. */
  readonly finish: string | null;
  readonly tokens: readonly LoggedToken[];
  readonly usage: z.infer<typeof usageSchema> | null;
  /** Fingerprint of the server's build or configuration; null if it sends none. */
  readonly fingerprint: string | null;
}

export interface LoggedToken {
  readonly token: string;
  readonly logprob?: number | null | undefined;
}

/** An error that the server put into a stream after it had begun; `status` as in HTTP. */
export class StreamError extends Error {
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    super(`the server ends its answer with an error (${status})`);
    this.status = status;
    this.body = body;
  }
}

/** The body is longer than any answer may be. */
export class TooLarge extends Error {}

/** No language has more characters per token, on average over a prompt. */
export const MAX_CHARACTERS_PER_TOKEN = 8;
/** No tokenizer has more on average in what a model writes: runs of spaces or dashes, which may be one token, have up to 16 or so. */
const MAX_WRITTEN_PER_TOKEN = 32;
const MAX_RESPONSE_BYTES = 1 << 20;
/** What a token of thought adds to that: an event of a stream, with its probability. */
const BYTES_PER_THOUGHT = 2048;

const logprobsSchema = z
  .object({ content: z.array(z.object({ token: z.string(), logprob: z.number().nullish() })).nullish() })
  .nullish()
  .catch(null);
const thoughtSchema = z.string().nullish().catch(null);
const saidSchema = z.object({
  content: z.string().nullish(),
  refusal: z.string().nullish(),
  /** vLLM's, llama.cpp's and DeepSeek's thoughts. */
  reasoning_content: thoughtSchema,
  /** OpenRouter's and Ollama's, and vLLM's of late. */
  reasoning: thoughtSchema,
});
const choiceSchema = z.object({
  finish_reason: z.string().nullish(),
  message: saidSchema.nullish(),
  delta: saidSchema.nullish(),
  logprobs: logprobsSchema,
});
/** More tokens than any model reads or writes are no count: sums of counts must stay exact integers, which the journal wants. */
const tokenCount = z.int().min(0).max(1_000_000_000);
const usageSchema = z.object({
  prompt_tokens: tokenCount,
  completion_tokens: tokenCount,
  /** OpenAI's own models show nothing of their thoughts but their number of tokens. */
  completion_tokens_details: z.object({ reasoning_tokens: tokenCount.nullish() }).nullish().catch(null),
});
const chunkSchema = z.object({
  choices: z.array(choiceSchema),
  usage: usageSchema.nullish().catch(null),
  system_fingerprint: z.string().nullish().catch(null),
});
type Chunk = z.infer<typeof chunkSchema>;

/** Reads a whole completion or a stream of server-sent events; null if it is neither. Throws TooLarge. */
export async function readCompletion(
  response: Response,
  tokens: { readonly thinking: number; readonly most: number },
  onText: (text: string) => void,
): Promise<Completion | null> {
  const maxBytes = MAX_RESPONSE_BYTES + tokens.thinking * BYTES_PER_THOUGHT;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  if (isStream) return await readStream(response, maxBytes, tokens.most, onText);
  return readWhole(await boundedText(response, maxBytes), onText);
}

/** Reads a body. Throws TooLarge. */
export async function boundedText(response: Response, maxBytes = MAX_RESPONSE_BYTES): Promise<string> {
  return bodyText(response, maxBytes, () => tooLarge(maxBytes));
}

function readWhole(text: string, onText: (text: string) => void): Completion | null {
  const chunk = parseChunk(text);
  if (chunk === null || chunk.choices.length === 0) return null;
  const completion = new CollectedText();
  completion.add(chunk, onText);
  return completion.result();
}

/**
 * Reads a stream; comments, events without data and unknown fields are skipped. P8: one whose server goes on after
 * `max_tokens` is cut.
 */
async function readStream(
  response: Response,
  maxBytes: number,
  mostTokens: number,
  onText: (text: string) => void,
): Promise<Completion | null> {
  const completion = new CollectedText();
  for await (const line of lines(response, maxBytes)) {
    if (!line.startsWith("data:")) continue;
    const data = line.slice("data:".length).trim();
    if (data === "[DONE]") break;
    const chunk = parseChunk(data);
    if (chunk === null) return null;
    completion.add(chunk, onText);
    if (completion.length > mostTokens * MAX_WRITTEN_PER_TOKEN)
      throw new TooLarge(
        `the server goes on after ${completion.length} characters, and max_tokens is ${mostTokens}; it does not keep to that`,
      );
  }
  return completion.result();
}

/** Parses an event. Throws StreamError if it is an error. */
function parseChunk(text: string): Chunk | null {
  const value = parseJson(text);
  const error = (value as { error?: { code?: unknown } } | null | undefined)?.error;
  if (error !== undefined && error !== null)
    throw new StreamError(typeof error.code === "number" ? error.code : 500, text);
  const parsed = chunkSchema.safeParse(value);
  return parsed.success ? parsed.data : null;
}

class CollectedText {
  private readonly answer = new AnswerText();
  /** Characters of thoughts and answer. */
  length = 0;
  private thoughtLength = 0;
  private refusal: string | null = null;
  private finish: string | null = null;
  private usage: Completion["usage"] = null;
  private fingerprint: string | null = null;
  private readonly tokens: LoggedToken[] = [];

  add({ choices: [choice], usage, system_fingerprint: fingerprint }: Chunk, onText: (text: string) => void): void {
    this.usage = usage ?? this.usage;
    this.fingerprint = fingerprint ?? this.fingerprint;
    if (choice === undefined) return;
    const said = choice.delta ?? choice.message;
    const content = said?.content ?? "";
    // Some servers send one of the fields empty beside the other one.
    const thought = said?.reasoning_content || said?.reasoning || "";
    const text = this.answer.add(content);
    this.thoughtLength += thought.length;
    this.length += content.length + thought.length;
    if (said?.refusal !== undefined && said.refusal !== null) this.refusal = (this.refusal ?? "") + said.refusal;
    this.finish = choice.finish_reason ?? this.finish;
    this.tokens.push(...(choice.logprobs?.content ?? []));
    if (text !== "") onText(text);
  }

  result(): Completion {
    const { answer, refusal, finish, tokens, usage, fingerprint } = this;
    const hidden = usage?.completion_tokens_details?.reasoning_tokens ?? 0;
    const hasThought = this.thoughtLength > 0 || answer.hasThought || hidden > 0;
    const thoughtLength = hasThought ? this.thoughtLength + answer.thoughtLength : null;
    return { content: answer.answer, thoughtLength, refusal, finish, tokens, usage, fingerprint };
  }
}

/** Yields the lines; a line may come in many pieces, each of which is searched once. */
async function* lines(response: Response, maxBytes: number): AsyncGenerator<string> {
  let open: string[] = [];
  for await (const piece of pieces(response, maxBytes)) {
    const [end = "", ...next] = piece.split("\n");
    open.push(end);
    for (const begin of next) {
      yield open.join("").replace(/\r$/u, "");
      open = [begin];
    }
  }
  yield open.join("");
}

async function* pieces(response: Response, maxBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of boundedChunks(response, maxBytes, () => tooLarge(maxBytes)))
    yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}

function tooLarge(maxBytes: number): TooLarge {
  return new TooLarge(`the response has more than ${maxBytes} bytes`);
}
