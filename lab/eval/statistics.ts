import { errorFunction, mean, sampleCorrelation } from "simple-statistics";
import { createRandom } from "../../sim/random.ts";

/** Lower and upper end. */
export type Interval = readonly [low: number, high: number];

/** A mean or share with its 95 % interval. */
export interface Share {
  readonly share: number;
  readonly interval: Interval;
}

/** Counts paired trials: those right in the first alone, those right in the second alone, and all. */
export interface Pairs {
  readonly gained: number;
  readonly lost: number;
  readonly trials: number;
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
 * that keeps its level with few trials, too.
 */
export function pairedDifference(pairs: Pairs): Share {
  const { middle, deviation } = adjusted(pairs);
  const half = Z * deviation;
  return {
    share: (pairs.gained - pairs.lost) / pairs.trials,
    interval: [Math.max(-1, middle - half), Math.min(1, middle + half)],
  };
}

/**
 * One-sided p value against "the difference is at most `margin`", by the same normal approximation as the interval: a
 * margin of -0.01 tests that the first is not worse by a point, +0.03 that it is better by more than three.
 */
export function pAtMost(margin: number, pairs: Pairs): number {
  const { middle, deviation } = adjusted(pairs);
  return normalTail((middle - margin) / deviation);
}

/** Two-sided p value against "there is no difference". */
export function pNoDifference(pairs: Pairs): number {
  const { middle, deviation } = adjusted(pairs);
  return 2 * normalTail(Math.abs(middle) / deviation);
}

function adjusted({ gained, lost, trials }: Pairs): { readonly middle: number; readonly deviation: number } {
  const [up, down] = [(gained + 1) / (trials + 2), (lost + 1) / (trials + 2)];
  return { middle: up - down, deviation: Math.sqrt((up + down - (up - down) ** 2) / (trials + 2)) };
}

/** Probability that a standard normal number is greater. */
function normalTail(z: number): number {
  return (1 - errorFunction(z / Math.SQRT2)) / 2;
}

/** Holm's adjusted p values, in the order given: each below a level holds at that level for all of them together. */
export function holm(values: readonly number[]): readonly number[] {
  const order = values.map((_, index) => index).toSorted((a, b) => (values[a] as number) - (values[b] as number));
  const result = values.map(() => 1);
  let most = 0;
  for (const [rank, index] of order.entries()) {
    most = Math.max(most, Math.min(1, (values.length - rank) * (values[index] as number)));
    result[index] = most;
  }
  return result;
}

/** Mean correlation of all pairs of columns of rows of equal length; null if no pair of columns varies. */
export function correlationOf(rows: readonly (readonly boolean[])[]): number | null {
  const columns = (rows[0] ?? []).map((_, column) => rows.map((row) => Number(row[column])));
  const varying = columns.filter((column) => new Set(column).size > 1);
  const pairs = varying.flatMap((one, index) => varying.slice(index + 1).map((other) => sampleCorrelation(one, other)));
  return pairs.length === 0 ? null : mean(pairs);
}

/** Kish: how many independent votes `votes` are worth whose errors correlate by `correlation`. */
export function effectiveVotes(votes: number, correlation: number): number {
  return votes / (1 + (votes - 1) * correlation);
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
