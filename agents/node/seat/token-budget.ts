import type { TokenBudget } from "../../ports/model.ts";

/** P8: the tokens that one request may cost this agent. */
export interface RequestBudget {
  /** Opens a budget for one call; what the call takes is taken from the whole. */
  open(): CallBudget;
  /** Counts tokens that were spent before a restart. */
  spend(tokens: number): void;
}

export interface CallBudget extends TokenBudget {
  /** Returns what the call has cost; tokens that are set aside count as spent. */
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
