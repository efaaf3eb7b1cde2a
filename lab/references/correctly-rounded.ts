import { expSeries, ln2, lnOfRatio } from "../../agents/core/protocols/mbft-bayesian/fixed-point.ts";

/**
 * Natural logarithm and exponential, correctly rounded to the nearest double and computed in integers.
 * ECMAScript leaves the last bits of Math.log and Math.exp to the engine (V8 misses the nearest double in 6 to 10 % of
 * cases), and in the Bayesian reference the last bit decides ties and comparisons at equality.
 */

/** Fixed point: the integer x stands for x / 2^BITS. The results need 53 bits, plus 20 where the logarithm cancels. */
const BITS = 160n;
const LN2 = ln2(BITS);
/** Below it the exponential is less than half of the smallest double. */
const SMALLEST_EXPONENT = -746;

/** ln x for x >= 0; -Infinity at 0. */
export function ln(x: number): number {
  if (x === 0) return -Infinity;
  if (!(x > 0 && x < Infinity)) throw new RangeError(`ln: ${x} is out of range`);
  const { significand, exponent } = decompose(x);
  const up = BigInt(Math.max(exponent, 0));
  const down = BigInt(Math.max(-exponent, 0));
  return toDouble(lnOfRatio(significand << up, 1n << down, Number(BITS)), 0);
}

/** e^x for x <= 0; 0 at -Infinity. */
export function exp(x: number): number {
  if (!(x <= 0)) throw new RangeError(`exp: ${x} is out of range`);
  if (x < SMALLEST_EXPONENT) return 0;
  const { significand, exponent } = decompose(x);
  const shift = BITS + BigInt(exponent);
  const fixed = shift >= 0n ? significand << shift : significand >> -shift;
  // x = r - k ln 2 with 0 <= r < ln 2.
  const k = fixed % LN2 === 0n ? fixed / LN2 : fixed / LN2 + 1n;
  const r = k * LN2 - fixed;
  return toDouble(expSeries(r, BITS), -Number(k));
}

/** |x| = significand * 2^exponent, exactly. */
function decompose(x: number): { readonly significand: bigint; readonly exponent: number } {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, x);
  const word = bits.getBigUint64(0);
  const fraction = word & ((1n << 52n) - 1n);
  const biased = Number((word >> 52n) & 0x7ffn);
  return biased === 0
    ? { significand: fraction, exponent: -1074 }
    : { significand: fraction | (1n << 52n), exponent: biased - 1075 };
}

/** fixed / 2^BITS * 2^exponent. Number(bigint) rounds to nearest even; the scalings are exact unless the result is subnormal. */
function toDouble(fixed: bigint, exponent: number): number {
  return Number(fixed) * 2 ** -Number(BITS) * 2 ** exponent;
}
