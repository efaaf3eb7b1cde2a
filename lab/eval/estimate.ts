import { protocolCosts } from "../complexity/formulas.ts";
import type { Evaluation } from "./evaluate.ts";

/** About the most that a round of questions, one of each suite, costs. */
export interface Estimate {
  readonly tokens: number;
  readonly seconds: number;
}

/**
 * Tokens of a call of a deliberation, whose prompt holds answers and proofs of others, divided by those of a first
 * answer.
 */
const LONGER = 1.8;

/**
 * Estimates calls by docs/spec/complexity.md with liars, and the votes beside them. Protocols share calls, which are
 * made once, so the run takes less.
 */
export function estimateRound(
  { methods, byzantine, mixes, seats }: Pick<Evaluation, "methods" | "byzantine" | "mixes" | "seats">,
  suites: number,
  measured: { readonly tokensPerCall: number; readonly tokensPerSecond: number },
): Estimate {
  const ofMethods = methods.map(({ id }) => callsOf(id, seats));
  const deliberating = ofMethods.reduce((sum, calls) => sum + calls, 0) * byzantine.length;
  const longest = Math.max(0, ...ofMethods);
  // Votes of one mix share their samples, up to those of the longest; each single model of a mix has its own.
  const votes = mixes.map(({ variants }) => (variants.length === 1 ? 1 : 1 + variants.length) * longest);
  const calls = suites * votes.reduce((sum, voting) => sum + deliberating + voting, 0);
  const tokens = calls * LONGER * measured.tokensPerCall;
  return { tokens, seconds: tokens / measured.tokensPerSecond };
}

function callsOf(method: string, n: number): number {
  const formula = protocolCosts.find(({ id }) => id === method)?.liars.modelCalls.of(n);
  if (formula !== undefined && formula !== null) return formula;
  return method.startsWith("decentllms") ? n * n : 3 * n;
}
