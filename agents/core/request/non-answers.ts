import type { Digest, NonAnswer } from "../types.ts";

/** The outcomes of decisions that a question has no answer, as Reality.eth writes them: the two highest words. */
export const NON_ANSWER_OUTCOMES: Readonly<Record<NonAnswer, Digest>> = {
  unanswerable: `0x${"ff".repeat(32)}` as Digest,
  tooEarly: `0x${"ff".repeat(31)}fe` as Digest,
};

/** True if the status is that of a decision that the question has no answer. */
export function isNonAnswer(status: string): status is NonAnswer {
  return Object.hasOwn(NON_ANSWER_OUTCOMES, status);
}
