/** Suites as models/questions.py draws its questions: the best model of the repository errs little on them. */
export const TAUGHT_SUITES = ["arithmetic", "wason", "policy", "lookup", "policies", "text"] as const;
/** Harder questions of the same families: more rules or options, and values near their limits. */
export const HARD_SUITES = ["rules", "replies", "clauses", "offers", "selections"] as const;
/** Questions whose rules stand at sources, which every seat reads: `told` by one page, or by none. */
export const SOURCED_SUITES = ["told", "silent"] as const;
export const SUITE_NAMES = [...TAUGHT_SUITES, ...HARD_SUITES, ...SOURCED_SUITES] as const;
export type Suite = (typeof SUITE_NAMES)[number];
