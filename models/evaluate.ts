// Measure a GGUF through node-llama-cpp, under the JSON grammar, greedily.
//
//   python models/tasks.py --examples 100 --split test --out /tmp/examples.json
//   npx node models/evaluate.ts models/conclave-small.gguf /tmp/examples.json [--show 2]

import { readFileSync } from "node:fs";
import { getLlama, LlamaGrammarEvaluationState } from "node-llama-cpp";
import type { Llama, LlamaContextSequence, LlamaGrammar, Token } from "node-llama-cpp";

type Example = {
  readonly task: "propose" | "verify" | "adjudicate" | "revise";
  readonly family: string;
  readonly kind: string;
  readonly prompt: string;
  readonly completion: string;
  readonly label: string;
};
type Outcome = {
  readonly example: Example;
  readonly text: string;
  readonly right: boolean;
  readonly confidence: number;
};

const maxTokens = 200;
const optionLetters = ["A", "B", "C", "D"];

function answerSchema({ task, kind }: Example) {
  if (task === "verify") return { enum: ["accept", "reject", "abstain"] } as const;
  if (task === "adjudicate") return { enum: ["uphold", "refute", "abstain"] } as const;
  if (kind === "boolean") return { enum: ["yes", "no"] } as const;
  if (kind.startsWith("choice")) {
    return { enum: optionLetters.slice(0, optionLetters.indexOf(kind.slice(-1)) + 1) };
  }
  return { type: "string", maxLength: 12 } as const;
}

function fieldNames({ task }: Example): readonly [string, string] {
  return task === "verify" || task === "adjudicate" ? ["check", "verdict"] : ["proof", "answer"];
}

async function grammarFor(llama: Llama, example: Example): Promise<LlamaGrammar> {
  const [reason, result] = fieldNames(example);
  return llama.createGrammarForJsonSchema({
    type: "object",
    properties: { [reason]: { type: "string", maxLength: 160 }, [result]: answerSchema(example) },
  });
}

/** The completed JSON text and the product of its tokens' probabilities. */
async function complete(sequence: LlamaContextSequence, tokens: Token[], grammar: LlamaGrammar) {
  await sequence.clearHistory();
  const grammarEvaluationState = new LlamaGrammarEvaluationState({ model: sequence.model, grammar });
  const made: Token[] = [];
  let confidence = 1;
  let text = "";
  const steps = sequence.evaluateWithMetadata(tokens, { confidence: true }, { temperature: 0, grammarEvaluationState });
  for await (const step of steps) {
    if (sequence.model.isEogToken(step.token)) break;
    made.push(step.token);
    confidence *= step.confidence;
    text = sequence.model.detokenize(made);
    if (text.endsWith("}") || made.length >= maxTokens) break;
  }
  return { text, confidence };
}

/** The probability that a right outcome has a higher confidence than a wrong one; NaN when one of them is missing. */
function separation(outcomes: readonly Outcome[]): number {
  const right = outcomes.filter((one) => one.right);
  const wrong = outcomes.filter((one) => !one.right);
  let wins = 0;
  for (const a of right) {
    for (const b of wrong) wins += a.confidence > b.confidence ? 1 : a.confidence === b.confidence ? 0.5 : 0;
  }
  return wins / (right.length * wrong.length);
}

function share(outcomes: readonly Outcome[]): string {
  const right = outcomes.filter((one) => one.right).length;
  return `${((100 * right) / outcomes.length).toFixed(1)} (${right}/${outcomes.length})`;
}

function report(outcomes: readonly Outcome[]): void {
  const groups = Map.groupBy(outcomes, ({ example }) => `${example.task} ${example.family}`);
  for (const [name, group] of groups) {
    const classes = Map.groupBy(group, ({ example }) => example.label);
    const byClass = name.startsWith("verify") || name.startsWith("adjudicate");
    const detail = byClass ? [...classes].map(([label, some]) => `${label} ${share(some)}`).join("  ") : "";
    console.log(name.padEnd(20), share(group).padEnd(16), detail);
  }
  for (const [name, group] of Map.groupBy(outcomes, ({ example }) => example.family)) {
    console.log(`family ${name}`.padEnd(20), share(group));
  }
  console.log("all".padEnd(20), share(outcomes), " AUC of confidence", separation(outcomes).toFixed(3));
  for (const [low, high] of [
    [0, 0.5],
    [0.5, 0.8],
    [0.8, 0.95],
    [0.95, 0.99],
    [0.99, 1.01],
  ] as const) {
    const bin = outcomes.filter(({ confidence }) => confidence >= low && confidence < high);
    if (bin.length > 0) console.log(`confidence ${low}..${Math.min(high, 1)}`.padEnd(24), share(bin));
  }
}

async function main(modelPath: string, examplesPath: string, show: number): Promise<void> {
  const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, maxThreads: 1 });
  const model = await llama.loadModel({ modelPath });
  const context = await model.createContext({ sequences: 1, contextSize: 1024, flashAttention: false });
  const sequence = context.getSequence();
  const examples = JSON.parse(readFileSync(examplesPath, "utf8")) as Example[];
  const grammars = new Map<string, LlamaGrammar>();
  const outcomes: Outcome[] = [];
  const began = performance.now();
  let valid = 0;
  for (const example of examples) {
    const key = `${example.task} ${example.kind}`;
    const grammar = grammars.get(key) ?? (await grammarFor(llama, example));
    grammars.set(key, grammar);
    const { text, confidence } = await complete(sequence, model.tokenize(`${example.prompt}\n`), grammar);
    let result: unknown;
    try {
      result = (JSON.parse(text) as Record<string, unknown>)[fieldNames(example)[1]];
      valid += 1;
    } catch {
      console.log("not JSON:", text);
    }
    const right = result === example.label;
    outcomes.push({ example, text, right, confidence });
    const mistakes = outcomes.filter((one) => !one.right && one.example.task === example.task).length;
    if (!right && mistakes <= show) console.log(`${example.prompt}\n  got  ${text}\n  want ${example.completion}\n`);
  }
  const each = (performance.now() - began) / examples.length;
  console.log(`${modelPath}: ${valid} of ${examples.length} parse, ${each.toFixed(0)} ms each`);
  report(outcomes);
  await llama.dispose();
}

const [modelPath, examplesPath, flag, value] = process.argv.slice(2);
if (modelPath === undefined || examplesPath === undefined) {
  console.error("usage: evaluate.ts MODEL.gguf EXAMPLES.json [--show N]");
  process.exit(2);
}
await main(modelPath, examplesPath, flag === "--show" ? Number(value) : 0);
