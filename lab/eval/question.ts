import { createHash } from "node:crypto";
import { createRandom } from "../../sim/random.ts";
import { answerFormOf, type AnswerForm } from "../../agents/core/prompts/task-prompt.ts";
import { policy, reply } from "./families/cases.ts";
import type { Drawn, Family } from "./families/drawn.ts";
import { policies, sum, wason } from "./families/numbers.ts";
import { poisoned } from "./poison.ts";

export const SUITE_NAMES = ["arithmetic", "wason", "policy", "lookup", "policies", "text"] as const;
export type Suite = (typeof SUITE_NAMES)[number];

const FAMILIES: Readonly<Record<Suite, Family>> = {
  arithmetic: sum,
  wason,
  policy,
  lookup: policy,
  policies,
  text: reply,
};

export interface Question {
  readonly suite: Suite;
  readonly text: string;
  readonly form: AnswerForm;
  readonly truth: string;
  /** The lie that liars agree on, and the text by which they prove it. */
  readonly lie: { readonly answer: string; readonly proof: string };
  /** For the look-up suite: the question with the rules from the poisoned source. */
  readonly poisoned?: string;
  /** Text by which leaders, chairs and roles are drawn; the question's text if absent. */
  readonly drawnBy?: string;
  /** Documents that the text names in its last lines (docs/spec/sources.md). */
  readonly documents?: readonly string[];
}

/** Traces longer than models have learned to write. */
const PROOF_LENGTH = 110;

/**
 * Returns the questions of a suite, each once, drawn by the seed; the first of more are those of fewer. No model of
 * models/ was trained on them, by the rule of `split_of` in models/questions.py.
 */
export function questionsOf(suite: Suite, count: number, seed: number): readonly Question[] {
  const random = createRandom(seed, `questions ${suite}`);
  const found = new Map<string, Question>();
  while (found.size < count) {
    const drawn = FAMILIES[suite](random);
    const isFit = isTest(drawn.text) && drawn.proof.length <= PROOF_LENGTH && drawn.lie.proof.length <= PROOF_LENGTH;
    const question = isFit ? questionFrom(suite, drawn) : null;
    // The look-up suite has equally many questions with either answer.
    const isWanted = suite !== "lookup" || question?.truth === (found.size % 2 === 0 ? "yes" : "no");
    if (question !== null && isWanted) found.set(drawn.text, question);
  }
  return [...found.values()];
}

/** True if `split_of` puts the question into the test split. */
export function isTest(text: string): boolean {
  return createHash("sha256").update(text).digest().readUInt32BE(0) % 10 === 0;
}

/** Returns null if the text cannot be poisoned. */
function questionFrom(suite: Suite, { kind, text, answer, proof, lie }: Drawn): Question | null {
  const question = { suite, text, form: formOf(kind), truth: answer, lie };
  if (suite !== "lookup") return question;
  const read = poisoned(text, answer, proof);
  return read === null || !isTest(read) ? null : { ...question, poisoned: read };
}

/** Value of the `kind` line of the prompt. */
export function formOf(line: string): AnswerForm {
  const form = answerFormOf(line);
  if (form === null) throw new Error(`no kind of answers: ${line}`);
  return form;
}
