import { readFileSync } from "node:fs";
import { join } from "node:path";
import { getLlama, LlamaCompletion, type LlamaModel } from "node-llama-cpp";

import { grammarOf, partsOf } from "../../agents/adapters/models/grammar.ts";
import { renderFields } from "../../agents/core/prompts/prompt.ts";

export interface HeldOut {
  readonly family: string;
  readonly kind: string;
  readonly question: string;
  readonly expected: string;
  readonly proof: string;
  readonly wrongAnswer: string;
  readonly wrongProof: string;
  /** Sources, quoted one and quote: of the citation family only. */
  readonly sources?: readonly string[];
  readonly source?: string;
  readonly quote?: string;
}

export type Texts = readonly (readonly [name: string, value: string])[];
export type Properties = readonly {
  readonly name: string;
  readonly enum?: readonly string[];
  readonly maxLength?: number;
}[];
type Fields = Readonly<Record<string, string>>;

export const folder = join(import.meta.dirname, "../../models");
export const heldOut = JSON.parse(readFileSync(join(folder, "held-out.json"), "utf8")) as readonly HeldOut[];

export const letters = ["A", "B", "C", "D", "E", "F", "G"];
export const check = { name: "check", maxLength: 512 };
export const proof = { name: "proof", maxLength: 512 };
const marks = Array.from({ length: 21 }, (_, mark) => String(mark));
export const criteria = ["contradiction", "fabrication", "instruction", "context", "logic"];
export const scores: Properties = [check, ...criteria.map((name) => ({ name, enum: marks }))];

export const verdict = (...allowed: readonly string[]) => ({ name: "verdict", enum: allowed });

export function answerOf(kind: string): Properties[number] {
  if (kind === "boolean") return { name: "answer", enum: ["yes", "no"] };
  if (kind.startsWith("choice")) return { name: "answer", enum: letters.slice(0, letters.indexOf(kind.slice(-1)) + 1) };
  return { name: "answer", maxLength: 128 };
}

/** Prompt fields for the answers of peers A, B, C ..., each right or wrong. */
export function peersOf(row: HeldOut, rights: readonly boolean[]): Texts {
  return rights.map((isRight, index) => [
    `answer${letters[index]}`,
    isRight ? `${row.expected}: ${row.proof}` : `${row.wrongAnswer}: ${row.wrongProof}`,
  ]);
}

export interface Asked {
  readonly model: LlamaModel;
  ask(task: string, row: HeldOut, data: Texts, properties: Properties): Promise<Fields>;
  close(): Promise<void>;
}

/** Opens a model file without the product's host: it samples greedily, with the agents' grammar and prompt. */
export async function openFile(modelPath: string): Promise<Asked> {
  const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, maxThreads: 1 });
  const model = await llama.loadModel({ modelPath });
  const context = await model.createContext({ contextSize: 1024, flashAttention: false });
  return {
    model,
    async ask(task, { kind, question }, data, properties) {
      const trusted = (name: string, value: string) => [name, value, "trusted"] as const;
      const untrusted = [["question", question] as const, ...data].map(
        ([name, value]) => [name, value, "untrusted"] as const,
      );
      const prompt = `${renderFields([trusted("task", task), trusted("kind", kind), ...untrusted])}\n`;
      const contextSequence = context.getSequence();
      const completion = new LlamaCompletion({ contextSequence });
      const grammar = await llama.createGrammar({ grammar: grammarOf(partsOf({ properties })) });
      const text = await completion.generateCompletion(model.tokenize(prompt), {
        grammar,
        maxTokens: 400,
        temperature: 0,
      });
      completion.dispose({ disposeSequence: true });
      return JSON.parse(text) as Fields;
    },
    async close() {
      await llama.dispose();
    },
  };
}
