/**
 * Logarithm and exponential in fixed point: the integer x stands for x / 2^bits. Integers only, so that every node computes the
 * same bits. The error of each result is proven below, and tested against twice the precision.
 *
 * Inside, 32 guard bits are added; u is one unit there. A truncated division or shift errs by less than 1 u. In the series of
 * `atanhSeries` a power errs by less than 2 u (1/9 of the error before, 1/3 of that of the square, and 1 u), so a term by less
 * than 3 u, from the second on by less than 2 u. There are at most bits/3 + 12 terms; with the tail and the truncated argument
 * the sum errs by less than (bits + 32) u, and so ln 2 and ln m by twice that. A logarithm adds ln m and at most 2048 times ln 2:
 * less than 2^20 u for bits <= 160. The argument of an exponential has at most bits + 2 times ln 2 in it and its series doubles
 * that at most: less than 2^18 u. Both are below 2^-12 of a unit of the result, to which rounding adds one half: every result
 * is within one unit, 2^-bits, of the true value.
 */

const GUARD = 32;
const MAX_BITS = 160;
/** Largest power of two by which a ratio may differ from 1; the range of doubles fits. */
const MAX_SHIFT = 2048;

/** ln(numerator / denominator) for positive integers, exact to one unit. */
export function lnOfRatio(numerator: bigint, denominator: bigint, bits: number): bigint {
  if (numerator <= 0n || denominator <= 0n) throw new RangeError("lnOfRatio: both numbers must be positive");
  const width = widthFor(bits);
  const one = 1n << width;
  // numerator / denominator = m * 2^shift with 1 <= m < 2.
  let shift = bitLength(numerator) - bitLength(denominator);
  const scaled = (by: number): bigint =>
    by >= 0 ? (numerator << width) / (denominator << BigInt(by)) : (numerator << (width + BigInt(-by))) / denominator;
  if (scaled(shift) < one) shift -= 1;
  if (Math.abs(shift) > MAX_SHIFT) throw new RangeError("lnOfRatio: the ratio is out of range");
  const m = scaled(shift);
  const y = ((m - one) << width) / (m + one);
  return rounded(BigInt(shift) * ln2(width) + (atanhSeries(y, width) << 1n), GUARD);
}

/** e^x for x <= 0, in 0..2^bits, exact to one unit. */
export function expOfNegative(x: bigint, bits: number): bigint {
  if (x > 0n) throw new RangeError("expOfNegative: the exponent is positive");
  const width = widthFor(bits);
  const ln2Here = ln2(width);
  // x = r - k ln 2 with 0 <= r < ln 2.
  const wide = -x << BigInt(GUARD);
  const k = (wide + ln2Here - 1n) / ln2Here;
  // The result is less than a quarter of a unit.
  if (k > BigInt(bits + 2)) return 0n;
  return rounded(expSeries(k * ln2Here - wide, width), GUARD + Number(k));
}

/** e^r for 0 <= r < ln 2, all in `width` bits. */
export function expSeries(r: bigint, width: bigint): bigint {
  let sum = 1n << width;
  let term = sum;
  for (let n = 1n; term !== 0n; n += 1n) {
    term = ((term * r) >> width) / n;
    sum += term;
  }
  return sum;
}

const ln2OfWidth = new Map<bigint, bigint>();

/** ln 2 = 2 atanh(1/3). */
export function ln2(width: bigint): bigint {
  const known = ln2OfWidth.get(width);
  if (known !== undefined) return known;
  const value = atanhSeries((1n << width) / 3n, width) << 1n;
  ln2OfWidth.set(width, value);
  return value;
}

/** atanh(y) for 0 <= y <= 1/3. */
function atanhSeries(y: bigint, width: bigint): bigint {
  const square = (y * y) >> width;
  let power = y;
  let sum = 0n;
  for (let n = 1n; power !== 0n; n += 2n) {
    sum += power / n;
    power = (power * square) >> width;
  }
  return sum;
}

function widthFor(bits: number): bigint {
  if (!Number.isInteger(bits) || bits < 1 || bits > MAX_BITS)
    throw new RangeError(`fixed point: ${bits} is not 1..${MAX_BITS} bits`);
  return BigInt(bits + GUARD);
}

/** value / 2^by, to the nearest integer. */
function rounded(value: bigint, by: number): bigint {
  return (value + (1n << BigInt(by - 1))) >> BigInt(by);
}

function bitLength(value: bigint): number {
  return value.toString(2).length;
}
