import {
  LlamaGrammarEvaluationState,
  type ChatWrapper,
  type Llama,
  type LlamaContextSequence,
  type LlamaGrammar,
  type LlamaModel,
  type Token,
} from "node-llama-cpp";

import { grammarOf } from "./grammar.ts";
import type { WorkerAnswer, WorkerAsk } from "./llama-messages.ts";
import { confidenceOf, valueRange, type TokenSpan } from "./output.ts";

export interface Engine {
  readonly llama: Llama;
  readonly model: LlamaModel;
  /** Null for a model that gets the bare user text. */
  readonly chatWrapper: ChatWrapper | null;
  readonly temperature: number;
}

type Why = "prompt-too-long" | "truncated" | "aborted";

/** Ends a generation that has not reached the end of the JSON. */
export class Unfinished extends Error {
  readonly why: Why;

  constructor(why: Why, reason: string) {
    super(reason);
    this.why = why;
  }
}

/** Fewer characters of a prompt than this make a token only in nonsense; bounds the work of tokenising a hostile prompt. */
const MAX_CHARACTERS_PER_TOKEN = 16;
/** Candidates when sampling. Top-p and min-p are off: they would turn 0.96 into certainty. */
const TOP_K = 40;

/** For people and transcripts: all that shapes the choice of a token besides the seed. */
export function samplingOf(temperature: number): string {
  return temperature === 0 ? "temperature=0" : `temperature=${temperature} top_k=${TOP_K}`;
}

/**
 * One answer on one sequence, from an empty context, so that no earlier ask shows in it. Alone it is reproducible bit for bit; beside
 * other sequences the last bits of the probabilities depend on what shares the batch (measured: 1 ppm of confidence in 2 of 96 asks, the
 * same text in 192 of 192), so nothing may compare confidences for equality. Generation has two parts: up to the name of the confidence
 * property without, from there on with token probabilities, which cost a sort of the vocabulary for each token.
 */
export async function generate(
  engine: Engine,
  sequence: LlamaContextSequence,
  ask: WorkerAsk,
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<WorkerAnswer> {
  const { model, temperature } = engine;
  const startMs = performance.now();
  const contextSize = Math.min(sequence.contextSize, model.trainContextSize);
  const prompt = promptTokens(engine, ask, contextSize);
  const room = contextSize - prompt.length;
  if (room < 1)
    throw new Unfinished("prompt-too-long", `the prompt has ${prompt.length} tokens, the context ${contextSize}`);
  const limit = Math.min(ask.maxTokens, room);
  const grammar = await grammarFor(engine.llama, ask);
  const grammarEvaluationState = new LlamaGrammarEvaluationState({ model, grammar });
  await sequence.clearHistory();

  let firstTokenMs = 0;
  let outputTokens = 0;
  const written = new Written(model, onText);
  const key = JSON.stringify(ask.confidenceOf).slice(0, -1);
  let input = await evaluatePrompt(sequence, prompt, signal);
  for (const measured of [false, true]) {
    const metadata = { confidence: measured && temperature === 0, probabilities: measured && temperature > 0 };
    const sampling = {
      temperature,
      topK: TOP_K,
      topP: 1,
      minP: 0,
      seed: measured ? ask.seed + 1 : ask.seed,
      grammarEvaluationState,
    };
    let ended = true;
    for await (const { token, ...step } of sequence.evaluateWithMetadata([...input], metadata, sampling)) {
      if (signal.aborted) throw new Unfinished("aborted", "the call was aborted");
      if (outputTokens === 0) firstTokenMs = performance.now() - startMs;
      if (outputTokens >= limit) throw new Unfinished("truncated", `the answer is not complete after ${limit} tokens`);
      outputTokens++;
      const before = written.text.length;
      written.add(token, measured ? probabilityAtOne(token, step, temperature) : null);
      if (!measured && written.text.includes(key, before - key.length)) {
        ended = false;
        input = [token];
        break;
      }
    }
    if (ended) break;
  }
  written.end();
  const { text, spans } = written;
  const confidencePpm = confidenceOf(spans, valueRange(text, ask.schema, ask.confidenceOf));
  return { text, confidencePpm, promptTokens: prompt.length, outputTokens, firstTokenMs };
}

/** A character may be spread over so many tokens; what is incomplete after more is none. */
const MAX_TOKENS_PER_CHARACTER = 8;

/** The text of the tokens so far; it grows by whole characters. */
class Written {
  text = "";
  readonly spans: TokenSpan[] = [];
  private readonly model: LlamaModel;
  private readonly onText: (text: string) => void;
  private readonly before: Token[] = [];
  private open: { readonly token: Token; readonly probability: number | null }[] = [];

  constructor(model: LlamaModel, onText: (text: string) => void) {
    this.model = model;
    this.onText = onText;
  }

  /** `probability`: null where it is not measured. */
  add(token: Token, probability: number | null): void {
    this.open.push({ token, probability });
    const piece = this.piece();
    if (!piece.endsWith("\ufffd") || this.open.length >= MAX_TOKENS_PER_CHARACTER) this.close(piece);
  }

  /** Nothing more comes. */
  end(): void {
    if (this.open.length > 0) this.close(this.piece());
  }

  private piece(): string {
    const tokens = this.open.map(({ token }) => token);
    return this.model.detokenize(tokens, false, this.before.slice(-MAX_TOKENS_PER_CHARACTER));
  }

  private close(piece: string): void {
    const start = this.text.length;
    this.text += piece;
    for (const { token, probability } of this.open) {
      this.before.push(token);
      if (probability !== null) this.spans.push({ start, end: this.text.length, probability });
    }
    this.open = [];
    this.onText(piece);
  }
}

/** All but the last piece of the prompt, which it returns. A piece is what one batch takes, so that an abort waits for one batch only. */
async function evaluatePrompt(
  sequence: LlamaContextSequence,
  prompt: readonly Token[],
  signal: AbortSignal,
): Promise<readonly Token[]> {
  const { batchSize } = sequence.context;
  let at = 0;
  for (; prompt.length - at > batchSize; at += batchSize) {
    await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(at, at + batchSize));
    if (signal.aborted) throw new Unfinished("aborted", "the call was aborted");
  }
  return prompt.slice(at);
}

/**
 * The probability of the chosen token at temperature 1. At 0 the engine reports it as it is; above, it reports p^(1/T) normalised
 * over the candidates, from which p follows.
 */
function probabilityAtOne(
  token: Token,
  step: { readonly confidence?: number; readonly probabilities?: ReadonlyMap<Token, number> },
  temperature: number,
): number {
  if (step.probabilities === undefined) return step.confidence ?? Number.NaN;
  let sum = 0;
  for (const probability of step.probabilities.values()) sum += probability ** temperature;
  return (step.probabilities.get(token) ?? Number.NaN) ** temperature / sum;
}

/** The text of user and question is tokenised as plain text: no character sequence in it becomes a control token. */
function promptTokens({ model, chatWrapper }: Engine, { system, user }: WorkerAsk, contextSize: number): Token[] {
  if (system.length + user.length > contextSize * MAX_CHARACTERS_PER_TOKEN) {
    throw new Unfinished(
      "prompt-too-long",
      `the prompt has ${system.length + user.length} characters, too many for ${contextSize} tokens`,
    );
  }
  if (chatWrapper === null) return model.tokenize(`${user}\n`);
  const { contextText } = chatWrapper.generateContextState({
    chatHistory: [
      { type: "system", text: system },
      { type: "user", text: user },
      { type: "model", response: [] },
    ],
  });
  return contextText.tokenize(model.tokenizer);
}

const MAX_GRAMMARS = 64;
const grammars = new Map<string, Promise<LlamaGrammar>>();

/** Compiled grammars are kept: the same few schemas come again and again. */
async function grammarFor(llama: Llama, { schema }: WorkerAsk): Promise<LlamaGrammar> {
  const grammar = grammarOf(schema);
  const known = grammars.get(grammar);
  if (known !== undefined) return await known;
  const [oldest] = grammars.keys();
  if (grammars.size >= MAX_GRAMMARS && oldest !== undefined) grammars.delete(oldest);
  const compiled = llama.createGrammar({ grammar });
  grammars.set(grammar, compiled);
  compiled.catch(() => grammars.delete(grammar));
  return await compiled;
}
