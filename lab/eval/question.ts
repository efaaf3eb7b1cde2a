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
  /** What liars agree on, and what they write to prove it. */
  readonly lie: { readonly answer: string; readonly proof: string };
  /** Of look-up: the question as it reads with the rules from the poisoned source. */
  readonly poisoned?: string;
  /** What leaders, chairs and roles are drawn by; the text if not given. */
  readonly drawnBy?: string;
  /** Documents that the text names in its last lines (docs/spec/sources.md). */
  readonly documents?: readonly string[];
}

/** Longer traces than models have learned to write. */
const PROOF_LENGTH = 110;

/**
 * Questions of a suite, each once, drawn by the seed; the first of more are those of fewer. Only such that no model of models/ was trained on, by
 * the rule of `split_of` in models/questions.py.
 */
export function questionsOf(suite: Suite, count: number, seed: number): readonly Question[] {
  const random = createRandom(seed, `questions ${suite}`);
  const found = new Map<string, Question>();
  while (found.size < count) {
    const drawn = FAMILIES[suite](random);
    const isFit = isTest(drawn.text) && drawn.proof.length <= PROOF_LENGTH && drawn.lie.proof.length <= PROOF_LENGTH;
    const question = isFit ? questionFrom(suite, drawn) : null;
    // As many questions to look up with the one answer as with the other.
    const isWanted = suite !== "lookup" || question?.truth === (found.size % 2 === 0 ? "yes" : "no");
    if (question !== null && isWanted) found.set(drawn.text, question);
  }
  return [...found.values()];
}

/** `split_of`: the test split. */
export function isTest(text: string): boolean {
  return createHash("sha256").update(text).digest().readUInt32BE(0) % 10 === 0;
}

/** Null when there is no way to poison what is to be looked up. */
function questionFrom(suite: Suite, { kind, text, answer, proof, lie }: Drawn): Question | null {
  const question = { suite, text, form: formOf(kind), truth: answer, lie };
  if (suite !== "lookup") return question;
  const read = poisoned(text, answer, proof);
  return read === null || !isTest(read) ? null : { ...question, poisoned: read };
}

/** Of the line that prompts have. */
export function formOf(line: string): AnswerForm {
  const form = answerFormOf(line);
  if (form === null) throw new Error(`no kind of answers: ${line}`);
  return form;
}
