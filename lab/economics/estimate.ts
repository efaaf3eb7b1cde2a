// Means with their 95 % intervals.

export interface Estimate {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** Student's t, two-sided 95 %, by degrees of freedom from 1 on; the last stands for all beyond. */
const T = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
] as const;

export const certain = (value: number): Estimate => ({ mean: value, low: value, high: value });

/** The mean of independent values, two at least. */
export function estimateOf(values: readonly number[]): Estimate {
  const [mean, variance] = momentsOf(values);
  const half = tOf(values.length - 1) * Math.sqrt(variance / values.length);
  return { mean, low: mean - half, high: mean + half };
}

export interface Stratum {
  /** How often it occurs. */
  readonly probability: number;
  readonly values: readonly number[];
}

/**
 * Returns the expectation over the strata, each of which needs two values at least. The stratum with the fewest degrees of
 * freedom sets the width of the interval.
 */
export function stratified(strata: readonly Stratum[]): Estimate {
  const parts = strata.map(({ probability, values }) => {
    const [mean, variance] = momentsOf(values);
    return { mean: probability * mean, variance: (probability ** 2 * variance) / values.length };
  });
  const mean = sum(parts.map((part) => part.mean));
  const fewest = Math.min(...strata.map(({ values }) => values.length - 1));
  const half = tOf(fewest) * Math.sqrt(sum(parts.map((part) => part.variance)));
  return { mean, low: mean - half, high: mean + half };
}

export const scaled = ({ mean, low, high }: Estimate, by: number): Estimate => ({
  mean: mean * by,
  low: low * by,
  high: high * by,
});

const tOf = (degrees: number): number => T[Math.min(degrees, T.length) - 1] ?? Number.POSITIVE_INFINITY;

function momentsOf(values: readonly number[]): readonly [mean: number, variance: number] {
  const mean = meanOf(values);
  return [mean, sum(values.map((value) => (value - mean) ** 2)) / (values.length - 1)];
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export const meanOf = (values: readonly number[]): number => sum(values) / values.length;
