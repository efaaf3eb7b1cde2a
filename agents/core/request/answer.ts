import { compareHex, utf8 } from "../encoding/bytes.ts";
import { limits } from "../limits.ts";
import type { Hex, SeatIndex, Terms } from "../types.ts";
import { KIND_RULES, type Asked, type CanonicalAnswer } from "./kinds.ts";
import { nonAnswerIn, readNonAnswer } from "./non-answers.ts";
import { clipText } from "./text.ts";

/** An answer by its outcome alone. */
type Named = Pick<CanonicalAnswer, "outcome">;

export interface SeatAnswer {
  readonly seat: SeatIndex;
  readonly answer: CanonicalAnswer;
}

/** A class of agreeing answers. */
export interface AnswerGroup {
  readonly representative: CanonicalAnswer;
  /** Ascending. */
  readonly seats: readonly SeatIndex[];
}

const ASCII_SPACE = /[\t\n\v\f\r ]+/g;
/**
 * Returns the canonical form of an untrusted answer, EQ6: also of a non-answer where those are admitted; null if the answer does not fit
 * the kind of the question, or is too long.
 */
export function canonicalAnswer(asked: Asked, text: string): CanonicalAnswer | null {
  // Every UTF-16 unit is at least one byte: bounds the work below.
  if (text.length > limits.answerBytes) return null;
  const written = collapseSpace(text);
  const nonAnswer = asked.admitsNonAnswers === true ? readNonAnswer(written) : null;
  return nonAnswer ?? KIND_RULES[asked.terms.kind].canonical(written, asked);
}

/** In words why a text is no answer; for people, in the bounds of a message. */
export function unreadAnswer({ terms }: Pick<Asked, "terms">, text: string): string {
  const noun = `is no ${KIND_RULES[terms.kind].noun(terms)}`;
  const shown = clipText(collapseSpace(text), limits.whyBytes);
  const whole = `answer '${shown}' ${noun}`;
  if (shown === "") return `an empty answer ${noun}`;
  if (utf8(whole).length <= limits.whyBytes) return whole;
  return `answer '${clipText(shown, limits.whyBytes - utf8(`answer '...' ${noun}`).length)}...' ${noun}`;
}

/**
 * EQ0. Agreeing answers, one class each; the result does not depend on the input's order. Numbers: the span of one tolerance that
 * most seats fall into is a class (of equals the lowest), then the same with the rest; a few outliers cannot shift it.
 */
export function groupAnswers(terms: Terms, answers: readonly SeatAnswer[]): readonly AnswerGroup[] {
  let rest = answers.toSorted((a, b) => compareOutcomes(terms, a.answer, b.answer) || a.seat - b.seat);
  const groups: AnswerGroup[] = [];
  while (rest.length > 0) {
    const spans = rest.map((first) => rest.filter((entry) => reaches(terms, first.answer, entry.answer)));
    const members = spans.reduce((best, span) => (span.length > best.length ? span : best));
    groups.push({
      // Members are in ascending order, so this is the lower median.
      representative: (members[Math.floor((members.length - 1) / 2)] as SeatAnswer).answer,
      seats: members.map(({ seat }) => seat).toSorted((a, b) => a - b),
    });
    rest = rest.filter((entry) => !members.includes(entry));
  }
  return groups.toSorted((a, b) => compareOutcomes(terms, a.representative, b.representative));
}

/** Whether two answers agree: equal, or numbers at most one tolerance apart. A non-answer agrees with itself alone (EQ6). */
export function isSameAnswer(terms: Terms, a: Named, b: Named): boolean {
  return reaches(terms, a, b) || reaches(terms, b, a);
}

function collapseSpace(text: string): string {
  return text.replace(ASCII_SPACE, " ").replace(/^ | $/g, "");
}

/** From `first` upwards within one tolerance. */
function reaches(terms: Terms, first: Named, other: Named): boolean {
  const isValue = [first, other].every((one) => nonAnswerIn(one) === null);
  if (KIND_RULES[terms.kind].order === "bytes" || !isValue) return first.outcome === other.outcome;
  const distance = signed(other.outcome) - signed(first.outcome);
  return distance >= 0n && distance <= terms.tolerance;
}

/** Numbers by value, all others by the bytes of the outcome. */
function compareOutcomes(terms: Terms, a: CanonicalAnswer, b: CanonicalAnswer): number {
  if (KIND_RULES[terms.kind].order === "bytes") return compareHex(a.outcome, b.outcome);
  const difference = signed(a.outcome) - signed(b.outcome);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

function signed(outcome: Hex): bigint {
  return BigInt.asIntN(256, BigInt(outcome));
}
