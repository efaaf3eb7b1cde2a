// Measures a GGUF file through node-llama-cpp, under the JSON grammar, greedily.
//
//   python models/tasks.py --examples 100 --split test --out /tmp/examples.json
//   npx node models/evaluate.ts models/conclave-small.gguf /tmp/examples.json [--show 2]

import { readFileSync } from "node:fs";
import { getLlama, LlamaGrammarEvaluationState } from "node-llama-cpp";
import type { LlamaContextSequence, LlamaGrammar, Token } from "node-llama-cpp";

import { grammarOf, partsOf } from "../agents/adapters/models/grammar.ts";
import type { OutputSchema } from "../agents/ports/model.ts";

type Example = {
  readonly task: string;
  readonly family: string;
  readonly kind: string;
  readonly prompt: string;
  /** The fields that the model should write, in order. */
  readonly fields: Readonly<Record<string, string>>;
  /** The fields that must be right. */
  readonly judged: readonly string[];
};
type Outcome = {
  readonly example: Example;
  readonly right: boolean;
  readonly confidence: number;
};

const maxTokens = 512;
const contextSize = 1024;
const letters = ["A", "B", "C", "D"];
const marks = Array.from({ length: 21 }, (_, mark) => String(mark));
const verdicts: Readonly<Record<string, readonly string[]>> = {
  verify: ["accept", "reject", "abstain"],
  adjudicate: ["uphold", "refute", "abstain"],
  match: ["same", "different", "abstain"],
};

/** The values that a field may have, or undefined for free text. */
function allowed({ task, kind, prompt }: Example, name: string): readonly string[] | undefined {
  switch (name) {
    case "verdict":
      return verdicts[task];
    case "source":
      return letters.filter((letter) => prompt.includes(`\nsource${letter}: `));
    case "answer":
      if (kind === "boolean") return ["yes", "no"];
      return kind.startsWith("choice") ? letters.slice(0, letters.indexOf(kind.slice(-1)) + 1) : undefined;
    default:
      return task === "score" && name !== "check" ? marks : undefined;
  }
}

function schemaOf(example: Example): OutputSchema {
  const properties = Object.keys(example.fields).map((name) => {
    const closed = allowed(example, name);
    return closed === undefined ? { name, maxLength: name === "answer" ? 128 : 512 } : { name, enum: closed };
  });
  return { properties };
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

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return null;
  }
}

/** The probability that a right outcome has a higher confidence than a wrong one; NaN if one of them is missing. */
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

/** The value by which a group is split: the verdict or the mark for logic, if it has one. */
function classOf({ task, fields }: Example): string {
  return fields["verdict"] ?? (task === "score" ? `logic ${fields["logic"]}` : "");
}

function report(outcomes: readonly Outcome[]): void {
  const groups = Map.groupBy(outcomes, ({ example }) => `${example.task} ${example.family}`);
  for (const [name, group] of groups) {
    const classes = [...Map.groupBy(group, ({ example }) => classOf(example))];
    const detail = classes.length > 1 ? classes.map(([label, some]) => `${label} ${share(some)}`).join("  ") : "";
    console.log(name.padEnd(20), share(group).padEnd(16), detail);
  }
  for (const by of ["task", "family", "kind"] as const) {
    for (const [name, group] of Map.groupBy(outcomes, ({ example }) => example[by])) {
      console.log(`${by} ${name}`.padEnd(20), share(group));
    }
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
  const context = await model.createContext({ sequences: 1, contextSize, flashAttention: false });
  const sequence = context.getSequence();
  const examples = JSON.parse(readFileSync(examplesPath, "utf8")) as Example[];
  const grammars = new Map<string, LlamaGrammar>();
  const outcomes: Outcome[] = [];
  const mistakes = new Map<string, number>();
  const began = performance.now();
  let valid = 0;
  for (const example of examples) {
    const grammar = grammarOf(partsOf(schemaOf(example)));
    const compiled = grammars.get(grammar) ?? (await llama.createGrammar({ grammar }));
    grammars.set(grammar, compiled);
    const { text, confidence } = await complete(sequence, model.tokenize(`${example.prompt}\n`), compiled);
    const made = parsed(text);
    if (made !== null) valid += 1;
    const right = made !== null && example.judged.every((name) => made[name] === example.fields[name]);
    outcomes.push({ example, right, confidence });
    if (right) continue;
    const cell = `${example.task} ${example.family}`;
    mistakes.set(cell, (mistakes.get(cell) ?? 0) + 1);
    if ((mistakes.get(cell) ?? 0) > show) continue;
    console.log(`${example.prompt}\n  got  ${text}\n  want ${JSON.stringify(example.fields)}\n`);
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
