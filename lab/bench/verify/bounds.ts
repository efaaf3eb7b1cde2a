/** Largest ratio of the processor times with the fastest curve: docs/adr/014-an-audit-costs-twice-its-signatures.md. */
export const MAX_RATIO = 2.4;
/** Least ratio of decisions per second: the fastest curve to noble. */
export const MIN_FASTER = 5;
/** The least number of decisions for which the bounds hold: with fewer, most of the time is what every run costs once. */
export const LEAST_JUDGED = 1000;

/** True if both bounds hold; null if there are too few decisions to judge them. */
export function isFast(decisions: number, cpuRatio: number, timesNoble: number): boolean | null {
  return decisions < LEAST_JUDGED ? null : cpuRatio <= MAX_RATIO && timesNoble >= MIN_FASTER;
}
