import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { policiesOf } from "../../agents/core/request/kinds.ts";
import type { Terms } from "../../agents/core/types.ts";
import { agrees } from "../../sim/plan.ts";

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
export function markOf(terms: Terms, truth: string, answer: string | null): Mark {
  if (answer === null) return { status: "hung", grade: 0 };
  const isRight = agrees(terms, answer, truth);
  const grade = terms.kind === "policies" ? overlap(terms, answer, truth) : Number(isRight);
  return { status: isRight ? "right" : "wrong", grade };
}

/** Jaccard's index of two sets of policies. */
function overlap(terms: Terms, answer: string, truth: string): number {
  const [a, b] = [answer, truth].map((text) => {
    const canonical = canonicalAnswer({ terms, question: "" }, text);
    return new Set(canonical === null ? [] : policiesOf(canonical.outcome));
  }) as [Set<number>, Set<number>];
  const union = a.union(b).size;
  return union === 0 ? 0 : a.intersection(b).size / union;
}
