import {
  LlamaGrammarEvaluationState,
  type ChatWrapper,
  type Llama,
  type LlamaContextSequence,
  type LlamaModel,
  type Token,
} from "node-llama-cpp";

import { grammarOfParts, type Part } from "./grammar.ts";
import type { WorkerAnswer, WorkerAsk } from "./llama-messages.ts";
import { confidenceOf } from "./output.ts";
import { Unfinished } from "./unfinished.ts";
import { Written } from "./written.ts";

export interface Engine {
  readonly llama: Llama;
  readonly model: LlamaModel;
  /** Null for a model that gets the bare user text. */
  readonly chatWrapper: ChatWrapper | null;
  readonly temperature: number;
}

/** Most characters per token of text that makes sense; bounds the work of tokenising a hostile prompt. */
const MAX_CHARACTERS_PER_TOKEN = 16;
/** Candidates when sampling. Top-p and min-p are off: they would turn 0.96 into certainty. */
const TOP_K = 40;

/** Describes, for people and transcripts, all that shapes the choice of a token besides the seed. */
export function samplingOf(temperature: number): string {
  return temperature === 0 ? "temperature=0" : `temperature=${temperature} top_k=${TOP_K}`;
}

/**
 * Generates one answer on one sequence, from an empty context, so that no earlier call influences it. Alone it is
 * reproducible bit for bit. Beside other sequences kernels may round differently (measured: the same text in 4,000 of
 * 4,000 answers; beside long prompts another confidence in one of 200, by up to 0.12 points), so nothing may compare
 * confidences for equality. The answer is made in runs: text about which the schema leaves no choice is not generated
 * but read with the first token of the next run, or added after the last. (With the whole grammar the engine would
 * generate that text as well, one evaluation per token, but perhaps with other tokens, on which the rest may depend.)
 * Only runs within the confidence property measure token probabilities, which cost a sort of the vocabulary for each
 * token.
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
  const written = new Written(model, ask.schema, prompt, Math.min(ask.maxTokens, room), onText);
  await sequence.clearHistory();

  let firstTokenMs: number | null = null;
  let input: readonly Token[] = prompt;
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
      firstTokenMs ??= performance.now() - startMs;
      written.add(token, isMeasured ? probabilityAtOne(token, step, temperature) : null);
      if (!written.canTurn()) continue;
      given = written.given();
      const isAbout = written.cursor.property() === ask.confidenceOf;
      if (given.length === 0 && isAbout === isMeasured) continue;
      last = token;
      break;
    }
    if (last === null) break;
    input = [last];
  }
  const { text, spans, outputTokens } = written;
  const confidencePpm = confidenceOf(spans, text, ask.schema, ask.confidenceOf);
  firstTokenMs ??= performance.now() - startMs;
  return { text, confidencePpm, promptTokens: prompt.length, outputTokens, firstTokenMs };
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

/**
 * Tokenises the prompt. The text of user and question is plain text: no character sequence in it becomes a control
 * token.
 */
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
const grammars = new Map<string, Promise<LlamaGrammarEvaluationState>>();

/** Returns a grammar. Parsed ones are kept, since few schemas occur and a copy costs a fifth of parsing. */
async function grammarFor({ llama, model }: Engine, parts: readonly Part[]): Promise<LlamaGrammarEvaluationState> {
  const grammar = grammarOfParts(parts);
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
