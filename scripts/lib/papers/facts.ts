import { canonicalAnswer, policiesOf } from "../../../agents/core/answer.ts";
import type { Terms } from "../../../agents/core/types.ts";
import { mean } from "../eval/statistics.ts";

/** What a decision kept of the policies that its members named at first. */
export interface Facts {
  readonly isDecided: boolean;
  /** Right policies that some first answer names. */
  readonly named: number;
  /** Of them, those in the decision. */
  readonly kept: number;
  /** Wrong policies: mean of the first answers, and in the decision. */
  readonly falsePerFirst: number;
  readonly falseKept: number;
}

/** `answer`: null when hung. */
export function factsOf(terms: Terms, firsts: readonly string[], answer: string | null, truth: string): Facts {
  const setOf = (text: string): ReadonlySet<number> => {
    const canonical = canonicalAnswer(terms, text);
    return new Set(canonical === null ? [] : policiesOf(canonical.outcome));
  };
  const right = setOf(truth);
  const sets = firsts.map(setOf);
  const named = [...right].filter((policy) => sets.some((set) => set.has(policy)));
  const decided = answer === null ? new Set<number>() : setOf(answer);
  const wrongIn = (set: ReadonlySet<number>): number => [...set].filter((policy) => !right.has(policy)).length;
  return {
    isDecided: answer !== null,
    named: named.length,
    kept: named.filter((policy) => decided.has(policy)).length,
    falsePerFirst: sets.length === 0 ? 0 : mean(sets.map(wrongIn)),
    falseKept: wrongIn(decided),
  };
}

export interface PooledFacts {
  readonly questions: number;
  readonly decided: number;
  readonly named: number;
  readonly namedWhereDecided: number;
  readonly kept: number;
  readonly falsePerFirst: number;
  readonly falsePerDecision: number;
}

export function pooledFacts(all: readonly Facts[]): PooledFacts {
  const decided = all.filter(({ isDecided }) => isDecided);
  const sum = (of: readonly Facts[], key: "named" | "kept" | "falseKept"): number =>
    of.reduce((total, one) => total + one[key], 0);
  return {
    questions: all.length,
    decided: decided.length,
    named: sum(all, "named"),
    namedWhereDecided: sum(decided, "named"),
    kept: sum(all, "kept"),
    falsePerFirst: all.length === 0 ? 0 : mean(all.map(({ falsePerFirst }) => falsePerFirst)),
    falsePerDecision: decided.length === 0 ? 0 : sum(decided, "falseKept") / decided.length,
  };
}
