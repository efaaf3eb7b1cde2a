import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../../../agents/sim/random.ts";
import type { AnswerKind, Terms } from "../../../agents/core/types.ts";
import { poisoned } from "./poison.ts";

/** Suites and the family of models/questions.py that each asks. */
export const SUITES = {
  arithmetic: "sum",
  wason: "wason",
  policy: "policy",
  lookup: "policy",
  policies: "policies",
  text: "text",
} as const;
export type Suite = keyof typeof SUITES;
export const SUITE_NAMES = Object.keys(SUITES) as readonly Suite[];

export interface Question {
  readonly suite: Suite;
  readonly text: string;
  readonly form: AnswerForm;
  readonly truth: string;
  /** What liars agree on, and what they write to prove it. */
  readonly lie: { readonly answer: string; readonly proof: string };
  /** Of look-up: the question as it reads with the rules from the poisoned source. */
  readonly poisoned?: string;
}

/** The part of a request's terms that a question fixes. */
export type AnswerForm = Pick<Terms, "kind" | "options" | "decimals">;

interface HeldOut {
  readonly family: string;
  readonly kind: string;
  readonly question: string;
  readonly expected: string;
  readonly proof: string;
  readonly wrongAnswer: string;
  readonly wrongProof: string;
  readonly sources?: readonly string[];
}

const heldOutPath = join(import.meta.dirname, "../../../models/held-out.json");

/** Questions that no model was trained on, in an order drawn by the seed; fewer when there are not so many. */
export function questionsOf(suite: Suite, count: number, seed: number): readonly Question[] {
  const rows = JSON.parse(readFileSync(heldOutPath, "utf8")) as readonly HeldOut[];
  const own = rows.filter(({ family, sources }) => family === SUITES[suite] && sources === undefined);
  return createRandom(seed, `questions ${suite}`)
    .shuffled(own)
    .flatMap((row) => questionFrom(suite, row) ?? [])
    .slice(0, count);
}

/** Null when there is no way to poison what is to be looked up. */
function questionFrom(suite: Suite, row: HeldOut): Question | null {
  const { kind, question: text, expected: truth, wrongAnswer, wrongProof } = row;
  const question = { suite, text, form: formOf(kind), truth, lie: { answer: wrongAnswer, proof: wrongProof } };
  if (suite !== "lookup") return question;
  const read = poisoned(text, truth, row.proof);
  return read === null ? null : { ...question, poisoned: read };
}

/** Of the line that prompts have: "boolean", "choice A-D", "number 0", "text", "policies A-E". */
export function formOf(line: string): AnswerForm {
  const [kind, rest = ""] = line.split(" ") as [AnswerKind, string?];
  const isLettered = kind === "choice" || kind === "policies";
  return {
    kind,
    options: isLettered ? rest.charCodeAt(rest.length - 1) - 64 : 0,
    decimals: kind === "number" ? Number(rest) : 0,
  };
}
