import { canonicalAnswer, isSameAnswer } from "../../agents/core/request/answer.ts";
import { policiesOf, type Asked, type CanonicalAnswer } from "../../agents/core/request/kinds.ts";

/** The judgement of one answer. */
export interface Mark {
  readonly status: "right" | "wrong" | "hung";
  /**
   * Grade from 0 to 1. For policies: the share that answer and truth have in common of all that either names;
   * otherwise 1 if right, else 0. Hung: 0.
   */
  readonly grade: number;
}

/** `answer`: null if hung. */
export function markOf(asked: Asked, truth: string, answer: string | null): Mark {
  if (answer === null) return { status: "hung", grade: 0 };
  const [given, right] = [canonicalAnswer(asked, answer), canonicalAnswer(asked, truth)];
  const isRight = given !== null && right !== null && isSameAnswer(asked.terms, given, right);
  const grade = asked.terms.kind === "policies" ? overlap(given, right) : Number(isRight);
  return { status: isRight ? "right" : "wrong", grade };
}

/** Jaccard's index of two sets of policies. */
function overlap(given: CanonicalAnswer | null, right: CanonicalAnswer | null): number {
  const [a, b] = [given, right].map((one) => new Set(one === null ? [] : policiesOf(one.outcome))) as [
    Set<number>,
    Set<number>,
  ];
  const union = a.union(b).size;
  return union === 0 ? 0 : a.intersection(b).size / union;
}
