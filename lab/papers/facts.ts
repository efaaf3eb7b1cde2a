import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { policiesOf } from "../../agents/core/request/kinds.ts";
import type { Terms } from "../../agents/core/types.ts";
import { mean } from "simple-statistics";

/** How much a decision kept of the policies that its members named at first. */
export interface Facts {
  readonly isDecided: boolean;
  /** Right policies that some first answer names. */
  readonly named: number;
  /** Those of them that the decision names. */
  readonly kept: number;
  /**
   * Wrong policies: mean of the first answers, number in one greedy answer of the same model, number in the decision.
   */
  readonly falsePerFirst: number;
  readonly falseGreedy: number;
  readonly falseKept: number;
}

export interface Said {
  readonly firsts: readonly string[];
  readonly greedy: string;
  /** The decision; null if hung. */
  readonly answer: string | null;
}

export function factsOf(terms: Terms, { firsts, greedy, answer }: Said, truth: string): Facts {
  const setOf = (text: string): ReadonlySet<number> => {
    const canonical = canonicalAnswer({ terms, question: "" }, text);
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
    falseGreedy: wrongIn(setOf(greedy)),
    falseKept: wrongIn(decided),
  };
}

export interface PooledFacts {
  readonly questions: number;
  readonly decided: number;
  readonly named: number;
  readonly namedWhereDecided: number;
  readonly kept: number;
  /** Wrong policies per answer on the decided questions; null without such questions, which differs from 0. */
  readonly falseWhereDecided: {
    readonly perFirst: number;
    readonly perGreedy: number;
    readonly perDecision: number;
  } | null;
}

export function pooledFacts(all: readonly Facts[]): PooledFacts {
  const decided = all.filter(({ isDecided }) => isDecided);
  const sum = (of: readonly Facts[], key: "named" | "kept"): number => of.reduce((total, one) => total + one[key], 0);
  const meanOf = (key: "falsePerFirst" | "falseGreedy" | "falseKept"): number => mean(decided.map((one) => one[key]));
  return {
    questions: all.length,
    decided: decided.length,
    named: sum(all, "named"),
    namedWhereDecided: sum(decided, "named"),
    kept: sum(all, "kept"),
    falseWhereDecided:
      decided.length === 0
        ? null
        : { perFirst: meanOf("falsePerFirst"), perGreedy: meanOf("falseGreedy"), perDecision: meanOf("falseKept") },
  };
}
