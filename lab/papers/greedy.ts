import { proposePrompt } from "../../agents/core/prompts/task-prompt.ts";
import type { AnswerBook } from "../eval/answer-book.ts";
import { attemptFor } from "../eval/attempt.ts";
import { markOf } from "../eval/mark.ts";
import { createPanel } from "../eval/panel.ts";
import type { Question } from "../eval/question.ts";

/** Title of its row in tables. */
export const GREEDY = "same model, greedy, one call";

/** The answer that a committee has to beat: one call of the same file at temperature 0. */
export interface Greedy {
  /** Empty if the call failed. */
  readonly answer: string;
  readonly isRight: boolean;
}

export async function greedyAnswer(book: AnswerBook, question: Question): Promise<Greedy> {
  const variant = book.variants.findIndex(({ isGreedy }) => isGreedy);
  if (variant < 0) throw new Error("greedyAnswer: no variant of the book is greedy");
  const attempt = attemptFor(question, 0, 1, "normal");
  // A greedy model ignores the seed.
  const answer = await createPanel({ book, question, seed: 0, variantOf: () => variant }).ask(
    0,
    proposePrompt(attempt).small,
  );
  const text = answer.kind === "answered" ? (answer.fields["answer"] ?? "") : "";
  return { answer: text, isRight: markOf(attempt.request, question.truth, text).status === "right" };
}
