/**
 * The engine without our host: one process, one context, k sequences of node-llama-cpp that answer the same prompts.
 * rounds.ts starts it. The first message loads the model; each further message is a round, answered with its figures.
 */
import {
  getLlama,
  LlamaGrammarEvaluationState,
  LlamaLogLevel,
  type Llama,
  type LlamaContextSequence,
  type LlamaModel,
} from "node-llama-cpp";

import { grammarOf, partsOf } from "../../../agents/adapters/models/grammar.ts";
import type { OutputSchema } from "../../../agents/ports/model.ts";

export interface RawLoad {
  readonly path: string;
  readonly sequences: number;
  readonly threads: number;
  readonly gpu: "auto" | false;
  readonly contextSize: number;
}

export interface RawRound {
  /** Prompts by sequence. */
  readonly users: readonly (readonly string[])[];
  readonly schema: OutputSchema;
  readonly maxTokens: number;
  /** True if the tokens are held to the schema. */
  readonly isConstrained: boolean;
}

export interface RoundResult {
  readonly tokens: number;
  readonly seconds: number;
  /** CPU time of all threads of all processes at work. */
  readonly cpuSeconds: number;
}

interface Loaded {
  readonly llama: Llama;
  readonly model: LlamaModel;
  readonly sequences: readonly LlamaContextSequence[];
}

let loaded: Promise<Loaded> | null = null;

process.on("disconnect", () => process.exit(0));
process.on("message", (message: RawLoad | RawRound) => {
  const work = "path" in message ? (loaded = load(message)).then(() => null) : measure(message);
  void work.then((result) => process.send?.({ result }));
});

async function load({ path, sequences, threads, gpu, contextSize }: RawLoad): Promise<Loaded> {
  const logLevel = LlamaLogLevel.error;
  const llama = await getLlama({ gpu, build: "never", skipDownload: true, maxThreads: threads, logLevel });
  const model = await llama.loadModel({ modelPath: path });
  const context = await model.createContext({ sequences, threads, flashAttention: false, contextSize });
  return { llama, model, sequences: Array.from({ length: sequences }, () => context.getSequence()) };
}

async function measure({ users, schema, maxTokens, isConstrained }: RawRound): Promise<RoundResult> {
  if (loaded === null) throw new Error("Load before the first round");
  const { llama, model, sequences } = await loaded;
  const grammar = await llama.createGrammar({ grammar: grammarOf(partsOf(schema)) });
  const answer = async (sequence: LlamaContextSequence, user: string): Promise<number> => {
    await sequence.clearHistory();
    const held = isConstrained ? { grammarEvaluationState: new LlamaGrammarEvaluationState({ model, grammar }) } : {};
    let tokens = 0;
    for await (const _ of sequence.evaluate(model.tokenize(`${user}\n`), { temperature: 0, ...held }))
      if (++tokens >= maxTokens) break;
    return tokens;
  };
  const startMs = performance.now();
  const before = process.cpuUsage();
  const counts = await Promise.all(
    sequences.map(async (sequence, index) => {
      let tokens = 0;
      for (const user of users[index] ?? []) tokens += await answer(sequence, user);
      return tokens;
    }),
  );
  const { user, system } = process.cpuUsage(before);
  const tokens = counts.reduce((sum, one) => sum + one, 0);
  return { tokens, seconds: (performance.now() - startMs) / 1000, cpuSeconds: (user + system) / 1e6 };
}
