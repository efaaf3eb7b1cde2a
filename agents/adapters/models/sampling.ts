/** Candidates when sampling. Top-p and min-p are off: they would turn 0.96 into certainty. */
export const TOP_K = 40;

/** The temperature of a call that must draw, where the config has a lower one: engines' makers advise 0.6 to 0.8. */
const DRAWING = 0.7;

/** Returns the temperature of a call. */
export function temperatureOf(configured: number, isDrawn = false): number {
  return isDrawn ? Math.max(configured, DRAWING) : configured;
}

/** Describes, for people and transcripts, all that shapes the choice of a token besides the seed. */
export function samplingOf(temperature: number, thinkingTokens: number): string {
  const sampling = temperature === 0 ? "temperature=0" : `temperature=${temperature} top_k=${TOP_K}`;
  return thinkingTokens === 0 ? sampling : `${sampling} thinking=${thinkingTokens}`;
}
