import { answerRound } from "./answer-round.ts";
import { candidatesOf, revealForm, type Candidate } from "../../agents/core/phases/proposals.ts";
import { CRITIQUE, critiqueForm } from "../../agents/core/protocols/debate/critiques.ts";
import { REPLY, replyForm } from "../../agents/core/protocols/debate/index.ts";
import { wordOf } from "../../agents/core/phases/chair.ts";
import { allCounted, type AnyForm, type RoundBook } from "../../agents/core/phases/round-book.ts";
import type { Tally } from "../../agents/core/seat/tally.ts";
import { ONE_PPM, type Attempt } from "../../agents/core/types.ts";

/**
 * The agreement meter (docs/spec/agreement.md): how alike the members' texts of a round are. It informs readers; no
 * rule of any protocol uses it (AG5).
 */

/** AG2: 0..1 000 000, symmetric, 1 000 000 for equal texts. */
export type Similarity = (one: string, other: string) => number;

/** Words consist of ASCII letters and digits and of everything beyond ASCII; no Unicode tables are used. */
const WORDS = /[0-9a-z\u0080-\uffff]+/g;

/**
 * AG3: the words that both texts share, divided by all words of the two; each word counts once, ASCII letters in
 * lower case.
 */
export const lexicalSimilarity: Similarity = (one, other) => {
  const [first, second] = [wordsOf(one), wordsOf(other)];
  const shared = [...first].filter((word) => second.has(word)).length;
  const all = first.size + second.size - shared;
  return all === 0 ? ONE_PPM : Math.floor((shared * ONE_PPM) / all);
};

function wordsOf(text: string): ReadonlySet<string> {
  const lower = text.replace(/[A-Z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 32));
  return new Set(lower.match(WORDS));
}

/** AG1: mean pairwise similarity in percent, rounded half up; null for fewer than two texts, which make no pair. */
export function agreement(texts: readonly string[], similarity: Similarity = lexicalSimilarity): number | null {
  if (texts.length < 2) return null;
  const pairs = texts.flatMap((one, index) => texts.slice(index + 1).map((other) => similarity(one, other)));
  const sum = pairs.reduce((total, value) => total + Math.min(Math.max(value, 0), ONE_PPM), 0);
  const most = pairs.length * ONE_PPM;
  return Math.floor((200 * sum + most) / (2 * most));
}

export type Band = "accept" | "read" | "contested";

/** AG4: rules of thumb after the last round; between the bounds, read the replies. */
export function bandOf(percent: number): Band {
  if (percent > 70) return "accept";
  return percent < 30 ? "contested" : "read";
}

export interface Reading {
  /** Phase of the texts. */
  readonly phase: number;
  readonly percent: number | null;
}

/** AG6: returns the meter's readings over the members' rounds of a council or a debate with the phases `forms`. */
export function agreementOf(
  attempt: Attempt,
  forms: readonly AnyForm[],
  tally: Tally,
  similarity: Similarity = lexicalSimilarity,
): readonly Reading[] {
  const book = answerRound(attempt, forms, tally);
  return forms.flatMap(({ phase }): readonly Reading[] => {
    const texts = textsOf(book, phase);
    return texts === null ? [] : [{ phase, percent: agreement(texts, similarity) }];
  });
}

/** Returns the full text of each member; null for phases that are not a round of the members. */
function textsOf(book: RoundBook, phase: number): readonly string[] | null {
  const firsts = candidatesOf(book, "closed");
  switch (phase) {
    case revealForm.phase:
      return firsts.map(fullText);
    case CRITIQUE:
      return allCounted(book, critiqueForm, "closed").flatMap(({ body }) =>
        body.critiques.length === 0 ? [] : [body.critiques.map(({ text }) => text).join(" ")],
      );
    case REPLY:
      return firsts.flatMap(({ seat }) => {
        const last = wordOf(book, replyForm, seat, "closed");
        return last === null ? [] : [fullText(last)];
      });
    default:
      return null;
  }
}

function fullText({ answer, proof }: Candidate): string {
  return `${answer.text} ${proof}`;
}
