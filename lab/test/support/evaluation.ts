import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryModel } from "../../../agents/adapters/memory/model.ts";
import { canonicalOrder } from "../../../agents/core/seat/order.ts";
import type { SeatIndex } from "../../../agents/core/types.ts";
import type { Model } from "../../../agents/ports/model.ts";
import { respond, type Mind } from "../../../sim/model.ts";
import { agrees } from "../../../sim/plan.ts";
import { createAnswerBook, type AnswerBook, type Variant } from "../../eval/answer-book.ts";
import { attemptFor } from "../../eval/attempt.ts";
import type { CellKey, Condition } from "../../eval/conditions.ts";
import { badSeats, tryQuestion, type Evaluation, type Trial } from "../../eval/evaluate.ts";
import type { Lessons } from "../../eval/lessons.ts";
import { METHODS, type Method } from "../../eval/methods.ts";
import { createPanel, type Panel } from "../../eval/panel.ts";
import { formOf, type Question } from "../../eval/question.ts";
import type { Suite } from "../../eval/suites.ts";

export const question: Question = {
  suite: "arithmetic",
  text: "What is 25 + 38?",
  form: formOf("number 0"),
  truth: "63",
  lie: { answer: "53", proof: "25+38: 5+8=13; 2+3=5; 53" },
};
export const { request: asked } = attemptFor(question, 0, 4, "normal");
export const { terms } = asked;

/** Answers with the current mind's answer, after some real time; every answer costs 10 tokens. */
export function bookOf(mindOf: (user: string) => Mind, realMs = 0): AnswerBook {
  const memory = createMemoryModel((request) => respond(request, terms, mindOf(request.user)), {
    confidence: () => 900_000,
  });
  const model: Model = {
    ...memory,
    async ask(request, signal) {
      if (realMs > 0) await sleep(realMs);
      return { ...(await memory.ask(request, signal)), promptTokens: 9, outputTokens: 1 };
    },
  };
  const scripted = { label: "scripted", key: "scripted", isGreedy: false, models: [model] };
  return createAnswerBook([scripted, { ...scripted, key: "greedy", isGreedy: true }], null);
}

export const twoOf = (model: Model): readonly Variant[] => {
  const variant = { label: "", key: "", isGreedy: false, models: [model] };
  return [variant, { ...variant, key: "greedy", isGreedy: true }];
};
export const minded = (answer: string): Mind => ({ answer, approves: (other) => agrees(terms, other, answer) });
export const truthful = (): AnswerBook => bookOf(() => minded("63"));
export const panelOf = (book: AnswerBook): Panel => createPanel({ book, question, seed: 1, variantOf: () => 0 });
export const methodOf = (id: string): Method => METHODS.find((one) => one.id === id) as Method;

export const LESSONS: Lessons = {
  questions: new Set(),
  greedyRight: [60],
  sampledRight: [60],
  skills: [3],
  curves: [{ answer: { steps: [{ from: 0, right: 3, of: 8 }] } }],
};
export const PLAIN: Condition = {
  mix: "homogeneous",
  seats: 4,
  seating: "sampled",
  assurance: "normal",
  byzantine: 0,
  liars: "caught",
};

/** The book has the model, and the same at temperature 0. */
export function evaluationOf(book: AnswerBook, methods: readonly Method[], seed = 1): Evaluation {
  return {
    book,
    models: 1,
    lessons: LESSONS,
    methods,
    leading: methods,
    recommended: null,
    thinning: 1,
    mixes: ["homogeneous"],
    questions: [{ question, seed }],
    seats: [4],
    seatings: ["sampled"],
    assurances: ["normal"],
    liars: ["caught"],
    byzantine: [0, 1],
    badness: ["confident"],
  };
}

export function cellOf(id: string, changed: Partial<Condition> = {}, suite: Suite = "arithmetic"): CellKey {
  return { suite, condition: { ...PLAIN, ...changed }, method: methodOf(id), every: 1 };
}

export async function trialOf(
  id: string,
  byzantine: number,
  book = truthful(),
  seed = 1,
  changed: Partial<Condition> = {},
): Promise<Trial> {
  const cell = cellOf(id, { byzantine, ...changed });
  return (await tryQuestion(evaluationOf(book, [cell.method]), cell, { question, seed })) as Trial;
}

/** A seed by which the seat that is bad is, or is not, the first in canonical order. */
export function seedWhere(isFirst: boolean): number {
  const chair = canonicalOrder(attemptFor(question, 0, 4, "normal"))[0] as SeatIndex;
  for (let seed = 1; ; seed++)
    if (badSeats({ seats: 4, badness: ["confident"], seed }, question, 1).has(chair) === isFirst) return seed;
}
