/** Largest ratio of the processor times with the fastest curve: docs/adr/014-an-audit-costs-twice-its-signatures.md. */
export const MAX_RATIO = 2.1;
/** Least ratio of decisions per second: the fastest curve to noble. */
export const MIN_FASTER = 5;
/** The least number of decisions for which the bounds hold: with fewer, most of the time is what every run costs once. */
export const LEAST_JUDGED = 1000;

/** Decisions that each path takes before it is timed, so that loading and compiling the program is not counted. */
export const WARM_UP = 200;

/** Rounds with the fastest curve, each with half of the baseline before and half after. A busy machine spoils some of them. */
export const ROUNDS = 3;

/** The bounds that do not hold, in words; null if there are too few decisions to judge them. */
export function missedBounds(decisions: number, cpuRatio: number, timesNoble: number): readonly string[] | null {
  if (decisions < LEAST_JUDGED) return null;
  return [
    ...(cpuRatio <= MAX_RATIO ? [] : [`ratio ${above(cpuRatio)} is more than ${MAX_RATIO}`]),
    ...(timesNoble >= MIN_FASTER
      ? []
      : [`${below(timesNoble)} times the decisions of noble is less than ${MIN_FASTER}`]),
  ];
}

/** The round with the median ratio. */
export function medianRound<T extends { readonly cpuRatio: number }>(rounds: readonly [T, ...T[]]): T {
  const sorted = rounds.toSorted((a, b) => a.cpuRatio - b.cpuRatio);
  return sorted[Math.floor(sorted.length / 2)] ?? rounds[0];
}

/** Rounded away from the bound, so that a figure that misses it never looks as if it met it. */
const above = (value: number): string => (Math.ceil(value * 100) / 100).toFixed(2);
const below = (value: number): string => (Math.floor(value * 100) / 100).toFixed(2);
