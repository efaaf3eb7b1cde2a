import { measureModel } from "../../agents/cli/calibrate/measure.ts";
import { modelFailed } from "../../agents/adapters/models/output.ts";
import { grounded } from "../../agents/core/sources/named.ts";
import type { Skill } from "../../agents/core/types.ts";
import type { Model, ModelFailureKind } from "../../agents/ports/model.ts";
import type { AnswerBook, Variant } from "./answer-book.ts";
import { attemptFor } from "./attempt.ts";
import { firstPrompt } from "./first-prompt.ts";
import { markOf } from "./mark.ts";
import { createPanel, type Curves } from "./panel.ts";
import { questionsOf, type Question } from "./question.ts";
import type { Suite } from "./suites.ts";
import { textOf } from "./vote.ts";

/** What is known of the models before the first question of the evaluation, from questions that are not in it. */
export interface Lessons {
  readonly questions: ReadonlySet<string>;
  /** Right answers of each model at temperature 0. */
  readonly greedyRight: readonly number[];
  /** Right answers of each model at its temperature. */
  readonly sampledRight: readonly number[];
  /** Skills of each model's seats. */
  readonly skills: readonly Skill[];
  /** Calibration of each model at its temperature; null: not measured. */
  readonly curves: readonly Curves[] | null;
}

/** Enough for a calibration, of which one question in five is held out (CF4, CF5). */
const LESSONS = 60;
/** Is no seed that a user can give. */
const SEED = 2 ** 31;

/** Asks each of the first `models` variants of the book, and the same at temperature 0, which follow them. */
export async function learn(
  book: AnswerBook,
  models: number,
  suites: readonly Suite[],
  isCalibrated: boolean,
): Promise<Lessons> {
  const questions = suites.flatMap((suite) => questionsOf(suite, Math.ceil(LESSONS / suites.length), SEED));
  const indices = Array.from({ length: models }, (_, index) => index);
  const sampledRight = await Promise.all(indices.map(async (model) => await rightOf(book, model, questions)));
  const greedyRight = await Promise.all(indices.map(async (model) => await rightOf(book, models + model, questions)));
  const curves = isCalibrated
    ? await Promise.all(indices.map(async (model) => await curvesOf(book, model, questions)))
    : null;
  return {
    questions: new Set(questions.map(({ text }) => text)),
    greedyRight,
    sampledRight,
    skills: sampledRight.map((right) => skillOf(right, questions.length)),
    curves,
  };
}

/** The level that clo's counters give a seat which was right so often: above 3/5 and 4/5, with 3 of 5 as a start. */
export function skillOf(right: number, of: number): Skill {
  const p = (right + 3) / (of + 5);
  return p >= 0.8 ? 3 : p >= 0.6 ? 2 : 1;
}

async function rightOf(book: AnswerBook, variant: number, questions: readonly Question[]): Promise<number> {
  const marks = await Promise.all(
    questions.map(async (question) => {
      const attempt = attemptFor(question, 0, 4, "normal");
      const panel = createPanel({ book, question, seed: SEED, variantOf: () => variant });
      const answer = await panel.ask(0, firstPrompt(attempt, question).small);
      return markOf(grounded(attempt).request, question.truth, textOf(answer)).status;
    }),
  );
  return marks.filter((status) => status === "right").length;
}

/** Calibrates as `conclave calibrate` does, by questions that name no sources. */
async function curvesOf(book: AnswerBook, variant: number, questions: readonly Question[]): Promise<Curves> {
  const descriptor = (book.variants[variant] as Variant).label;
  const model: Model = {
    descriptor,
    prompts: "small",
    async ask(request) {
      const answer = await book.ask(variant, request);
      if (answer.kind === "failed") throw modelFailed(descriptor, answer.reason as ModelFailureKind, "no answer");
      return { ...answer, firstTokenMs: 0, durationMs: 0 };
    },
    async close() {},
  };
  const known = questions
    .filter(({ pages }) => pages === undefined)
    .map((question) => ({
      question: question.text,
      terms: attemptFor(question, 0, 4, "normal").request.terms,
      answer: question.truth,
      proof: question.proof ?? "",
      wrong: question.lie,
    }));
  const made = { model: descriptor, engine: "", sampling: "", prompts: "" };
  const measurement = { questions: known, samples: 1, seed: SEED, jobs: 8 };
  if (known.length === 0) return {};
  const { curves } = await measureModel(model, made, measurement, new AbortController().signal, () => {});
  return curves;
}
