import { createHash } from "node:crypto";
import { createRandom } from "../../sim/random.ts";
import { answerFormOf, type AnswerForm } from "../../agents/core/prompts/task-prompt.ts";
import { clause, policy, reply } from "./families/cases.ts";
import { choose, wason } from "./families/choices.ts";
import type { Drawn, Family, Level, Pages } from "./families/drawn.ts";
import { policies, sum } from "./families/numbers.ts";
import { silent, telling } from "./families/pages.ts";
import { poisoned } from "./poison.ts";
import { solutionsOf } from "./solver.ts";
import type { Suite } from "./suites.ts";

const taught = (...sizes: readonly number[]): Level => ({ sizes, nearPpm: 150_000, roundPpm: 800_000 });
const hard = (sizes: readonly number[], nearPpm: number, roundPpm: number): Level => ({ sizes, nearPpm, roundPpm });

const FAMILIES: Readonly<Record<Suite, Family>> = {
  arithmetic: sum,
  wason,
  policy: policy(taught(2, 2, 3)),
  lookup: policy(taught(2, 2, 3)),
  policies: policies(taught(3, 3, 4, 4, 4, 5)),
  text: reply(taught(2, 2, 3)),
  rules: policy(hard([4], 850_000, 100_000)),
  replies: reply(hard([3, 4], 700_000, 200_000)),
  clauses: clause(hard([4], 600_000, 200_000)),
  offers: choose(hard([4], 300_000, 100_000)),
  selections: policies(hard([5], 1_000_000, 0)),
  told: telling(taught(2, 2, 3)),
  silent: silent(taught(2, 2, 3)),
};

export interface Question {
  readonly suite: Suite;
  readonly text: string;
  readonly form: AnswerForm;
  readonly truth: string;
  /** A text by which the truth is proven; none if absent. */
  readonly proof?: string;
  /** The lie that liars agree on, and the text by which they prove it. */
  readonly lie: { readonly answer: string; readonly proof: string };
  /** For the look-up suite: the question with the rules from the poisoned source. */
  readonly poisoned?: string;
  /** Text by which leaders, chairs and roles are drawn; the question's text if absent. */
  readonly drawnBy?: string;
  /** What the sources show that the text names in its last lines. */
  readonly pages?: Pages;
  /** Documents that the text names in its last lines (docs/spec/sources.md). */
  readonly documents?: readonly string[];
}

/** Traces longer than models have learned to write. */
const PROOF_LENGTH = 110;

/**
 * Returns the questions of a suite, each once, drawn by the seed; the first of more are those of fewer. The solver has
 * proven that each has exactly one answer. No model of models/ was trained on them, by the rule of `split_of` in
 * models/questions.py.
 */
export function questionsOf(suite: Suite, count: number, seed: number): readonly Question[] {
  const random = createRandom(seed, `questions ${suite}`);
  const found = new Map<string, Question>();
  while (found.size < count) {
    const drawn = FAMILIES[suite](random);
    const isFit = isTest(drawn.text) && drawn.proof.length <= PROOF_LENGTH && drawn.lie.proof.length <= PROOF_LENGTH;
    const question = isFit ? questionFrom(suite, drawn) : null;
    // Poisoned sources turn one answer more often than the other: these suites have equally many questions with either.
    const isEven = suite === "lookup" || suite === "told";
    const isWanted = !isEven || question?.truth === (found.size % 2 === 0 ? "yes" : "no");
    if (question !== null && isWanted && isProven(question)) found.set(drawn.text, question);
  }
  return [...found.values()];
}

/** True if the solver finds one answer; throws if that is not the family's. */
function isProven({ suite, text, form, truth, pages }: Question): boolean {
  const solutions = solutionsOf(suite, text, form, pages?.right);
  if (solutions.length === 1 && solutions[0] !== truth)
    throw new Error(`the family says ${truth} and the solver ${solutions.join()}: ${text}`);
  return solutions.length === 1;
}

/** True if `split_of` puts the question into the test split, whatever sources it names. */
export function isTest(text: string): boolean {
  const [asked = ""] = text.split("\nsource: ");
  return createHash("sha256").update(asked).digest().readUInt32BE(0) % 10 === 0;
}

/** Returns null if the text cannot be poisoned. */
function questionFrom(suite: Suite, { kind, text, answer, proof, lie, pages }: Drawn): Question | null {
  const question = { suite, text, form: formOf(kind), truth: answer, proof, lie };
  if (pages === null) return null;
  if (pages !== undefined)
    return { ...question, text: [text, ...pages.right.map((_, at) => `source: ${pageName(at)}`)].join("\n"), pages };
  if (suite !== "lookup") return question;
  const read = poisoned(text, answer, proof);
  return read === null || !isTest(read) ? null : { ...question, poisoned: read };
}

/** How a question names its pages. */
export function pageName(place: number): string {
  return `https://page-${place}.example/rules`;
}

/** Value of the `kind` line of the prompt. */
export function formOf(line: string): AnswerForm {
  const form = answerFormOf(line);
  if (form === null) throw new Error(`no kind of answers: ${line}`);
  return form;
}
