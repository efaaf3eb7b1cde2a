/**
 * CS1, CS2: How likely a drawn committee has too many hostile seats. Exact: integers over integers.
 *
 * Two models of the draw. `hypergeometric`: agents of equal weight, each drawn at most once. `binomial`: its limit where there are
 * many more agents than seats: then every seat is hostile with the hostile share of all weight. The draw is by weight and without
 * replacement, so hostile stake that sits in few agents gets fewer seats than the binomial says: the attacker's best is to split it.
 */

/** numerator / denominator, both not negative. */
export interface Ratio {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** P(at least `least` of n seats are hostile) if each seat is hostile with probability `share`. */
export function binomialTail(n: number, least: number, share: Ratio): Ratio {
  const { numerator: hostile, denominator: all } = share;
  let sum = 0n;
  for (let k = Math.max(least, 0); k <= n; k++)
    sum += choose(n, k) * hostile ** BigInt(k) * (all - hostile) ** BigInt(n - k);
  return { numerator: sum, denominator: all ** BigInt(n) };
}

/**
 * P(at least `least` of n seats are hostile) if n different agents are drawn from so many, of which that many are hostile.
 */
export function hypergeometricTail(agents: number, hostile: number, n: number, least: number): Ratio {
  let sum = 0n;
  for (let k = Math.max(least, 0); k <= Math.min(n, hostile); k++)
    sum += choose(hostile, k) * choose(agents - hostile, n - k);
  return { numerator: sum, denominator: choose(agents, n) };
}

/** f + 1: one more than the protocols bear. */
export function seatsToBreak(n: number): number {
  return Math.floor((n - 1) / 3) + 1;
}

/** Committee sizes of an attempt and of its appeals: each is 2n + 1; the last is final. */
export function appealSizes(n: number, appeals: number): readonly number[] {
  const sizes = [n];
  for (let appeal = 0; appeal < appeals; appeal++) sizes.push(2 * (sizes.at(-1) as number) + 1);
  return sizes;
}

/** Three significant digits, rounded to nearest: `.181`, `4.29e-7`, `0`. */
export function showRatio({ numerator, denominator }: Ratio): string {
  if (numerator === 0n) return "0";
  if (numerator === denominator) return "1";
  let exponent = 0;
  const scaled = (digits: number): bigint =>
    (2n * numerator * 10n ** BigInt(digits) + denominator) / (2n * denominator);
  while (scaled(exponent) < 100n) exponent += 1;
  const digits = scaled(exponent);
  // Rounding can carry over to a fourth digit.
  const [shown, places] = digits >= 1000n ? [digits / 10n, exponent - 1] : [digits, exponent];
  if (places <= 5) return fixed(shown, places);
  const text = shown.toString();
  return `${text.slice(0, 1)}.${text.slice(1)}e-${places - 2}`;
}

/** digits / 10^places with its decimal point. */
function fixed(digits: bigint, places: number): string {
  const text = digits.toString().padStart(places + 1, "0");
  const whole = text.slice(0, text.length - places);
  return `${whole === "0" ? "" : whole}.${text.slice(text.length - places)}`;
}

function choose(n: number, k: number): bigint {
  if (k < 0 || k > n) return 0n;
  let result = 1n;
  for (let i = 1; i <= k; i++) result = (result * BigInt(n - k + i)) / BigInt(i);
  return result;
}
