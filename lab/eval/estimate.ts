import { protocolCosts } from "../complexity/formulas.ts";
import type { Evaluation } from "./evaluate.ts";

/** What a round of questions, one of each suite, costs at most, about. */
export interface Estimate {
  readonly tokens: number;
  readonly seconds: number;
}

/** Tokens of a call of a deliberation, where answers and proofs of others stand in the prompt, by those of a first answer. */
const LONGER = 1.8;

/** Calls by docs/spec/complexity.md with liars, and the votes beside them. What protocols share is asked once, so it takes less. */
export function estimateRound(
  { methods, byzantine, mixes, seats }: Pick<Evaluation, "methods" | "byzantine" | "mixes" | "seats">,
  suites: number,
  measured: { readonly tokensPerCall: number; readonly tokensPerSecond: number },
): Estimate {
  const ofMethods = methods.map(({ id }) => callsOf(id, seats));
  const deliberating = ofMethods.reduce((sum, calls) => sum + calls, 0) * byzantine.length;
  const longest = Math.max(0, ...ofMethods);
  // Votes of one mix share their samples, up to those of the longest; each single model of several has its own.
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
