import { protocolCosts } from "../complexity/formulas.ts";
import type { Evaluation } from "./evaluate.ts";

/** What a round of questions, one of each suite, costs at most, about. */
export interface Estimate {
  readonly calls: number;
  readonly tokens: number;
  readonly seconds: number;
}

/**
 * Calls by docs/spec/complexity.md with liars, as many tokens as a first answer has, and the votes beside them. What protocols share is asked
 * once, so it takes less.
 */
export function estimateRound(
  { methods, byzantine, mixes, seats }: Pick<Evaluation, "methods" | "byzantine" | "mixes" | "seats">,
  suites: number,
  measured: { readonly tokensPerCall: number; readonly tokensPerSecond: number },
): Estimate {
  const ofMethods = methods.map(({ id }) => callsOf(id, seats));
  const deliberating = ofMethods.reduce((sum, calls) => sum + calls, 0) * byzantine.length;
  // Votes of one mix share their samples; each single model of a mix has its own.
  const longest = Math.max(0, ...ofMethods);
  const calls = suites * mixes.reduce((sum, { variants }) => sum + deliberating + longest * (1 + variants.length), 0);
  const tokens = calls * measured.tokensPerCall;
  return { calls, tokens, seconds: tokens / measured.tokensPerSecond };
}

function callsOf(method: string, n: number): number {
  const formula = protocolCosts.find(({ id }) => id === method)?.liars.modelCalls.of(n);
  if (formula !== undefined && formula !== null) return formula;
  return method.startsWith("decentllms") ? n * n : 3 * n;
}
