import { createRandom } from "../../sim/random.ts";

/** Lower and upper end. */
export type Interval = readonly [low: number, high: number];

/** A mean or share with its 95 % interval. */
export interface Share {
  readonly share: number;
  readonly interval: Interval;
}

/** Two-sided, 95 %. */
const Z = 1.959963984540054;
const RESAMPLES = 2_000;

/** A share with Wilson's score interval: `hits` of `trials`, trials at least 1. */
export function shareOf(hits: number, trials: number): Share {
  const share = hits / trials;
  const scale = 1 + (Z * Z) / trials;
  const middle = (share + (Z * Z) / (2 * trials)) / scale;
  const half = (Z / scale) * Math.sqrt((share * (1 - share)) / trials + (Z * Z) / (4 * trials * trials));
  return { share, interval: [Math.max(0, middle - half), Math.min(1, middle + half)] };
}

/**
 * Difference of two shares of the same trials with its interval by Bonett and Price (2012), an adjusted Wald interval
 * that keeps its level with few trials, too. `gained`: right in the first alone; `lost`: right in the second alone.
 */
export function pairedDifference(gained: number, lost: number, trials: number): Share {
  const [up, down] = [(gained + 1) / (trials + 2), (lost + 1) / (trials + 2)];
  const half = Z * Math.sqrt((up + down - (up - down) ** 2) / (trials + 2));
  const middle = up - down;
  return { share: (gained - lost) / trials, interval: [Math.max(-1, middle - half), Math.min(1, middle + half)] };
}

/**
 * A mean of values from 0 to 1 (at least one value) with its percentile bootstrap, 2,000 resamples drawn from a fixed
 * seed. Resamples of equal values are all equal: then the interval is Wilson's of a share as large, since no such
 * values vary more than a share does.
 */
export function meanOf(values: readonly number[]): Share {
  if (values.every((value) => value === values[0]))
    return shareOf(values.length * (values[0] as number), values.length);
  const random = createRandom(values.length, "bootstrap");
  const means = Array.from({ length: RESAMPLES }, () => mean(values.map(() => random.pick(values))));
  means.sort((a, b) => a - b);
  const interval = [means[Math.floor(0.025 * RESAMPLES)], means[Math.ceil(0.975 * RESAMPLES) - 1]] as [number, number];
  return { share: mean(values), interval };
}

/** Mean of at least one value. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
