import type { Digest, NonAnswer } from "../types.ts";
import type { CanonicalAnswer } from "./kinds.ts";

/** The outcomes of decisions that a question has no answer, as Reality.eth writes them: the two highest words. */
export const NON_ANSWER_OUTCOMES: Readonly<Record<NonAnswer, Digest>> = {
  unanswerable: `0x${"ff".repeat(32)}` as Digest,
  tooEarly: `0x${"ff".repeat(31)}fe` as Digest,
};

/** EQ6: what seats say in place of an answer; the words are its canonical text. */
const SAID = [
  { nonAnswer: "unanswerable", text: "unanswerable", written: /^unanswerable\.?$/i },
  { nonAnswer: "tooEarly", text: "too early", written: /^too[ -]early\.?$/i },
] as const satisfies readonly { readonly nonAnswer: NonAnswer; readonly text: string; readonly written: RegExp }[];

/** EQ6: the words in which a seat says that there is no answer. */
export const NON_ANSWER_WORDS: readonly string[] = SAID.map(({ text }) => text);

/**
 * EQ6: the values of non-answers in messages: -2^255 and the one above it, which no answer of any kind has. Those on the chain are the
 * numbers -1 and -2, too, and a vote names nothing but a value.
 */
const VALUES: Readonly<Record<NonAnswer, Digest>> = {
  unanswerable: `0x80${"00".repeat(31)}` as Digest,
  tooEarly: `0x80${"00".repeat(30)}01` as Digest,
};

/** EQ6: a non-answer as seats give it. */
export function saidNonAnswer(nonAnswer: NonAnswer): CanonicalAnswer {
  const { text } = SAID.find((one) => one.nonAnswer === nonAnswer) as (typeof SAID)[number];
  return { text, outcome: VALUES[nonAnswer] };
}

/** EQ6: the non-answer in a text without outer and repeated spaces; null if the text says something else. */
export function readNonAnswer(text: string): CanonicalAnswer | null {
  const found = SAID.find(({ written }) => written.test(text));
  return found === undefined ? null : saidNonAnswer(found.nonAnswer);
}

/** EQ6: which non-answer a value of a message is; null for that of an answer. */
export function nonAnswerIn({ outcome }: Pick<CanonicalAnswer, "outcome">): NonAnswer | null {
  return SAID.find(({ nonAnswer }) => VALUES[nonAnswer] === outcome)?.nonAnswer ?? null;
}
