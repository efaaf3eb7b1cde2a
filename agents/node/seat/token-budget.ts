import type { TokenBudget } from "../../ports/model.ts";

/** P8: the tokens that one request may cost this agent. */
export interface RequestBudget {
  /** For one call; what it takes is taken from all. */
  open(): CallBudget;
  /** What was spent before a restart. */
  spend(tokens: number): void;
}

export interface CallBudget extends TokenBudget {
  /** What the call has cost; what is set aside counts as spent. */
  spent(): number;
}

export function createRequestBudget(limit: number): RequestBudget {
  let total = 0;
  return {
    open() {
      let own = 0;
      const add = (tokens: number): void => {
        total += tokens;
        own += tokens;
      };
      return {
        reserve(most) {
          if (total + most > limit) return null;
          add(most);
          return (tokens) => add(tokens - most);
        },
        spent: () => own,
      };
    },
    spend: (tokens) => void (total += tokens),
  };
}
