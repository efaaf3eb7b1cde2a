// How likely a holder gets so many seats of a committee, by arithmetic.

/** Weights in the draw, all above 0: of the holder's agents, and of all others. */
export interface Weights {
  readonly own: readonly number[];
  readonly others: readonly number[];
}

/** Steps of the integral in a standard deviation of the logarithm of the time at which the n-th agent arrives. */
const STEPS = 2;
/** Where a term falls below this part of the sum, the integral ends. */
const NEGLIGIBLE = 1e-10;

/**
 * P(at least `least` of n seats are the holder's), to a part in a million. There must be n agents at least.
 *
 * A draw by weight without replacement (DR2) is a race: each agent arrives after an exponential time whose rate is its weight, and the first
 * n sit. The holder has `least` seats if so many of its agents arrive before n - least + 1 others have. So P is the integral over all times
 * of the density with which its agent of that number arrives, times P(at most n - least others are there). It is smooth in the logarithm of
 * the time, so that few equal steps suffice.
 */
export function chanceOfSeats({ own, others }: Weights, n: number, least: number): number {
  if (least <= 0 || others.length <= n - least) return 1;
  if (own.length < least) return 0;
  const total = [...own, ...others].reduce((sum, weight) => sum + weight, 0);
  const step = 1 / (STEPS * Math.sqrt(n));
  const termAt = (index: number): number => {
    const time = (n / total) * Math.exp(index * step);
    return time * arrivalDensity(own, least, time) * chanceOfAtMost(others, n - least, time);
  };
  const middle = termAt(0);
  let sum = middle;
  for (const direction of [1, -1]) {
    let [before, term] = [0, middle];
    for (let index = direction; term > before || term > NEGLIGIBLE * sum; index += direction) {
      before = term;
      term = termAt(index);
      sum += term;
    }
  }
  return Math.min(1, sum * step);
}

/** The density with which the agent arrives at a time that is number `least` of its holder's. */
function arrivalDensity(weights: readonly number[], least: number, time: number): number {
  /** By number k: P(k are there), and the density with which one arrives while k others are there. */
  const there = startOf(least);
  const arriving = new Float64Array(least);
  for (const weight of weights) {
    const absent = Math.exp(-weight * time);
    for (let k = least - 1; k >= 0; k--) {
      const mixed = mix(arriving, k, absent);
      arriving[k] = mixed + (there[k] ?? 0) * weight * absent;
    }
    join(there, absent);
  }
  return arriving[least - 1] ?? 0;
}

/** P(at most so many of these agents are there at a time). */
function chanceOfAtMost(weights: readonly number[], most: number, time: number): number {
  const there = startOf(most + 1);
  for (const weight of weights) join(there, Math.exp(-weight * time));
  return there.reduce((sum, chance) => sum + chance, 0);
}

/** The chances of 0, 1, ... agents where nobody takes part yet. */
function startOf(length: number): Float64Array {
  const chances = new Float64Array(length);
  chances[0] = 1;
  return chances;
}

/** Lets one more agent take part, which is not there yet with this chance. */
function join(chances: Float64Array, absent: number): void {
  for (let k = chances.length - 1; k >= 0; k--) chances[k] = mix(chances, k, absent);
}

const mix = (chances: Float64Array, k: number, absent: number): number =>
  (chances[k] ?? 0) * absent + (chances[k - 1] ?? 0) * (1 - absent);

/** The same for a holder of this part of the weight where many equal agents are: then each seat is its own with that chance. */
export function chanceInLargeRegistry(part: number, n: number, least: number): number {
  if (part >= 1) return 1;
  /** The probability that exactly so many seats are its own. */
  let exactly = part ** n;
  let sum = 0;
  for (let seats = n; seats >= least; seats--) {
    sum += exactly;
    exactly *= (seats / (n - seats + 1)) * ((1 - part) / part);
  }
  return sum;
}
