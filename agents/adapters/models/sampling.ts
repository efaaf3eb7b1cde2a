/** Candidates when sampling. Top-p and min-p are off: they would turn 0.96 into certainty. */
export const TOP_K = 40;

/** The least temperature of a sample: engines' makers advise 0.6 to 0.8. */
const SAMPLING = 0.7;

/** Returns the temperature of a call. */
export function temperatureOf(configured: number, isSampled = false): number {
  return isSampled ? Math.max(configured, SAMPLING) : configured;
}

/** Describes, for people and transcripts, all that shapes the choice of a token besides the seed. */
export function samplingOf(temperature: number, thinkingTokens: number): string {
  const sampling = temperature === 0 ? "temperature=0" : `temperature=${temperature} top_k=${TOP_K}`;
  return thinkingTokens === 0 ? sampling : `${sampling} thinking=${thinkingTokens}`;
}

/** Whether an engine of this sampling has another one for samples. */
export function samplesOtherwise(sampling: string): boolean {
  const [, temperature = SAMPLING] = /^temperature=([\d.]+)/.exec(sampling) ?? [];
  return Number(temperature) < SAMPLING;
}
