import {
  LlamaGrammarEvaluationState,
  type ChatWrapper,
  type Llama,
  type LlamaContextSequence,
  type LlamaModel,
  type Token,
} from "node-llama-cpp";

import { grammarOf, type Part } from "./grammar.ts";
import { isLoop } from "./loop.ts";
import { frameThoughts } from "./thoughts.ts";
import type { WorkerAnswer, WorkerAsk } from "./llama-messages.ts";
import { confidenceOf } from "./output.ts";
import { temperatureOf, TOP_K } from "./sampling.ts";
import { Unfinished } from "./unfinished.ts";
import { Written } from "./written.ts";

export interface Engine {
  readonly llama: Llama;
  readonly model: LlamaModel;
  /** Null for a model that gets the bare user text. */
  readonly chatWrapper: ChatWrapper | null;
  readonly temperature: number;
  /** The mark that ends the model's thoughts; null for a model that has none. */
  readonly thoughtMark: string | null;
  /** Most tokens of thought before an answer. */
  readonly thinkingTokens: number;
}

/** Most characters per token of text that makes sense; bounds the work of tokenising a hostile prompt. */
const MAX_CHARACTERS_PER_TOKEN = 16;

/** Thoughts are sampled as makers of such models advise: without chance they go round in loops. */
const THOUGHT_SAMPLING = { temperature: 0.6, topK: 20, topP: 0.95, minP: 0 } as const;
/** Fewer tokens of thought are not worth their marks. */
const LEAST_THOUGHT = 64;
/** Thoughts repeat themselves more than an answer does before they are a loop. */
const THOUGHT_LOOP = { times: 12, length: 240 } as const;
const THOUGHT_TAIL = 1200;

/**
 * Generates one answer on one sequence, from an empty context, so that no earlier call influences it. Alone it is
 * reproducible bit for bit. Beside other sequences kernels may round differently (measured: the same text in 4,000 of
 * 4,000 answers; beside long prompts another confidence in one of 200, by up to 0.12 points), so nothing may compare
 * confidences for equality. The answer is made in runs: text about which the schema leaves no choice is not generated
 * but read with the first token of the next run, or added after the last. (With the whole grammar the engine would
 * generate that text as well, one evaluation per token, but perhaps with other tokens, on which the rest may depend.)
 * Only runs within the confidence property measure token probabilities, which cost a sort of the vocabulary for each
 * token. A model that thinks does so first, without a grammar; nobody sees these thoughts.
 */
export async function generate(
  engine: Engine,
  sequence: LlamaContextSequence,
  ask: WorkerAsk,
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<WorkerAnswer> {
  const { model } = engine;
  const temperature = temperatureOf(engine.temperature, ask.isSampled);
  const startMs = performance.now();
  const contextSize = Math.min(sequence.contextSize, model.trainContextSize);
  const prompt = promptTokens(engine, ask, contextSize);
  const promptLength = prompt.opened.length + prompt.closing.length;
  const room = contextSize - promptLength;
  if (room < 1)
    throw new Unfinished("prompt-too-long", `the prompt has ${promptLength} tokens, the context ${contextSize}`);
  await sequence.clearHistory();

  let firstTokenMs: number | null = null;
  const onToken = (): void => void (firstTokenMs ??= performance.now() - startMs);
  const most = Math.min(engine.thinkingTokens, room - ask.maxTokens);
  const { tokens: thoughtTokens, rest } =
    most < LEAST_THOUGHT
      ? { tokens: 0, rest: [...prompt.opened, ...prompt.closing] }
      : await think({ ...engine, temperature }, sequence, prompt, ask.seed, most, signal, onToken);
  const limit = Math.min(ask.maxTokens, room - thoughtTokens);
  const written = new Written(model, ask.schema, rest, limit, onText);
  let input: readonly Token[] = rest;
  let given = written.given();
  for (let run = 0; ; run++) {
    for (const token of given) written.add(token, 1);
    if (written.cursor.ended()) break;
    input = await evaluateBefore(sequence, [...input, ...given], signal);
    const isMeasured = written.cursor.property() === ask.confidenceOf;
    const metadata = { confidence: isMeasured && temperature === 0, probabilities: isMeasured && temperature > 0 };
    const grammarEvaluationState = await grammarFor(engine, written.cursor.rest());
    const sampling = { temperature, topK: TOP_K, topP: 1, minP: 0, seed: ask.seed + run, grammarEvaluationState };
    let last: Token | null = null;
    for await (const { token, ...step } of sequence.evaluateWithMetadata([...input], metadata, sampling)) {
      if (signal.aborted) throw new Unfinished("aborted", "the call was aborted");
      onToken();
      written.add(token, isMeasured ? probabilityAtOne(token, step, temperature) : null);
      const isClosed = written.closeIfDue();
      if (!written.canTurn()) continue;
      given = written.given();
      const isAbout = written.cursor.property() === ask.confidenceOf;
      if (given.length === 0 && isAbout === isMeasured && !isClosed) continue;
      last = token;
      break;
    }
    if (last === null) break;
    input = [last];
  }
  const { text, spans } = written;
  const confidencePpm = confidenceOf(spans, text, ask.schema, ask.confidenceOf);
  const outputTokens = thoughtTokens + written.outputTokens;
  onToken();
  return { text, confidencePpm, promptTokens: promptLength, outputTokens, firstTokenMs: firstTokenMs ?? 0 };
}

/**
 * Lets the model think until it ends its thoughts, has used up its tokens, or goes round in a loop. Returns how many
 * tokens it thought, and what must be read before the answer.
 */
async function think(
  { model, thoughtMark, temperature }: Engine,
  sequence: LlamaContextSequence,
  { opened, closing, after }: PromptTokens,
  seed: number,
  most: number,
  signal: AbortSignal,
  onToken: () => void,
): Promise<{ readonly tokens: number; readonly rest: readonly Token[] }> {
  const input = await evaluateBefore(sequence, opened, signal);
  const sampling = { ...THOUGHT_SAMPLING, temperature: Math.max(THOUGHT_SAMPLING.temperature, temperature), seed };
  let tokens = 0;
  let tail = "";
  for await (const { token } of sequence.evaluateWithMetadata([...input], {}, sampling)) {
    if (signal.aborted) throw new Unfinished("aborted", "the call was aborted");
    onToken();
    tokens++;
    tail = (tail + model.detokenize([token], true)).slice(-THOUGHT_TAIL);
    if (thoughtMark !== null && tail.includes(thoughtMark)) return { tokens, rest: [token, ...after] };
    if (tokens >= most || isLoop(tail, THOUGHT_LOOP)) return { tokens, rest: [token, ...closing] };
  }
  return { tokens, rest: closing };
}

/**
 * Evaluates all but the last piece of the tokens, which it returns. A piece is one batch, so that an abort waits for
 * one batch only.
 */
async function evaluateBefore(
  sequence: LlamaContextSequence,
  tokens: readonly Token[],
  signal: AbortSignal,
): Promise<readonly Token[]> {
  const { batchSize } = sequence.context;
  let at = 0;
  for (; tokens.length - at > batchSize; at += batchSize) {
    await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(at, at + batchSize));
    if (signal.aborted) throw new Unfinished("aborted", "the call was aborted");
  }
  return tokens.slice(at);
}

/**
 * Returns the probability of the chosen token at temperature 1. At temperature 0 the engine reports it; above, it
 * reports p^(1/T) normalised over the candidates, from which p follows.
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

/** A prompt, and where thoughts have their place in it: between `opened` and `closing`. */
interface PromptTokens {
  readonly opened: readonly Token[];
  readonly closing: readonly Token[];
  /** The end of `closing`, after the mark by which the model ends its thoughts itself. */
  readonly after: readonly Token[];
}

/**
 * Tokenises the prompt. The text of user and question is plain text: no character sequence in it becomes a control
 * token.
 */
function promptTokens(engine: Engine, { system, user }: WorkerAsk, contextSize: number): PromptTokens {
  const { model, chatWrapper, thoughtMark } = engine;
  if (system.length + user.length > contextSize * MAX_CHARACTERS_PER_TOKEN) {
    throw new Unfinished(
      "prompt-too-long",
      `the prompt has ${system.length + user.length} characters, too many for ${contextSize} tokens`,
    );
  }
  if (chatWrapper === null) return { opened: model.tokenize(`${user}\n`), closing: [], after: [] };
  const history = [
    { type: "system", text: system },
    { type: "user", text: user },
  ] as const;
  if (thoughtMark !== null) {
    const { opened, closing, after } = frameThoughts(chatWrapper, history, thoughtMark);
    const special = (text: string): Token[] => model.tokenize(text, true, "trimLeadingSpace");
    return { opened: opened.tokenize(model.tokenizer), closing: special(closing), after: special(after) };
  }
  const { contextText } = chatWrapper.generateContextState({
    chatHistory: [...history, { type: "model", response: [] }],
  });
  return { opened: contextText.tokenize(model.tokenizer), closing: [], after: [] };
}

const MAX_GRAMMARS = 64;
const grammars = new Map<string, Promise<LlamaGrammarEvaluationState>>();

/** Returns a grammar. Parsed ones are kept, since few schemas occur and a copy costs a fifth of parsing. */
async function grammarFor({ llama, model }: Engine, parts: readonly Part[]): Promise<LlamaGrammarEvaluationState> {
  const grammar = grammarOf(parts);
  let start = grammars.get(grammar);
  if (start === undefined) {
    const [oldest] = grammars.keys();
    if (grammars.size >= MAX_GRAMMARS && oldest !== undefined) grammars.delete(oldest);
    start = llama
      .createGrammar({ grammar })
      .then((compiled) => new LlamaGrammarEvaluationState({ model, grammar: compiled }));
    grammars.set(grammar, start);
    start.catch(() => grammars.delete(grammar));
  }
  return (await start).clone();
}
