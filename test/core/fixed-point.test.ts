import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { expOfNegative, lnOfRatio } from "../../agents/core/protocols/mbft-bayesian/fixed-point.ts";
import { assertAtMost } from "../support/assertions.ts";

/** Independent yardsticks with 400 bits: other series than the code's, on exact integers. */
const WIDE = 400n;
const ONE = 1n << WIDE;

/** ln x by halving the argument into 1..1+2^-8 with square roots, then the alternating series. */
function wideLn(numerator: bigint, denominator: bigint): bigint {
  let x = (numerator * ONE) / denominator;
  let doublings = 0n;
  const epsilon = ONE >> 8n;
  while (x > ONE + epsilon || x < ONE - epsilon) {
    x = squareRoot(x << WIDE);
    doublings += 1n;
  }
  const t = x - ONE;
  let power = t;
  let sum = 0n;
  for (let n = 1n; power !== 0n && power !== -1n; n += 1n) {
    sum += n % 2n === 1n ? power / n : -(power / n);
    power = (power * t) >> WIDE;
  }
  return sum << doublings;
}

/** e^x for x <= 0 by halving the argument below 2^-8, the plain series, and squaring. */
function wideExp(x: bigint, bits: bigint): bigint {
  let small = x << (WIDE - bits);
  let halvings = 0;
  while (-small > ONE >> 8n) {
    small /= 2n;
    halvings += 1;
  }
  let sum = ONE;
  let term = ONE;
  for (let n = 1n; term !== 0n && n < 200n; n += 1n) {
    term = (term * small) / ONE / n;
    sum += term;
  }
  for (let i = 0; i < halvings; i++) sum = (sum * sum) >> WIDE;
  return sum;
}

function squareRoot(value: bigint): bigint {
  let guess = 1n << BigInt((value.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (guess + value / guess) >> 1n;
    if (next >= guess) return guess;
    guess = next;
  }
}

/** |got - wide| in units of 2^-bits, as a fraction of 2^WIDE. */
function unitsOff(got: bigint, wide: bigint, bits: number): number {
  const difference = (got << (WIDE - BigInt(bits))) - wide;
  return Number(((difference < 0n ? -difference : difference) << BigInt(bits)) >> (WIDE - 20n)) / 2 ** 20;
}

const bitsOf = fc.constantFrom(1, 16, 64, 96, 128, 160);
const positive = fc.oneof(fc.bigInt({ min: 1n, max: 1_000n }), fc.bigInt({ min: 1n, max: 1n << 200n }));

describe("fixed point", () => {
  it("ln of a ratio is within one unit of the true value", () => {
    fc.assert(
      fc.property(positive, positive, bitsOf, (numerator, denominator, bits) => {
        const off = unitsOff(lnOfRatio(numerator, denominator, bits), wideLn(numerator, denominator), bits);
        assertAtMost(off, 0.5001);
      }),
      { numRuns: 400 },
    );
  });

  it("e^x is within one unit of the true value, down to where it vanishes", () => {
    fc.assert(
      fc.property(bitsOf, fc.bigInt({ min: 0n, max: 1n << 40n }), (bits, magnitude) => {
        // 0 to 2^8 in value.
        const x = -((magnitude << BigInt(bits)) >> 32n);
        assertAtMost(unitsOff(expOfNegative(x, bits), wideExp(x, BigInt(bits)), bits), 0.5001);
      }),
      { numRuns: 400 },
    );
  });

  it("known values: ln 1, ln 2, ln 10, e^0, e^-1, to the last of 64 bits", () => {
    const decimal = (value: bigint): string => ((value * 10n ** 19n) >> 64n).toString();
    assert.equal(lnOfRatio(7n, 7n, 64), 0n);
    // ln 2 = .693147180559945309417..., ln 10 = 2.30258509299404568401..., 1/e = .36787944117144232159...
    assert.match(decimal(lnOfRatio(2n, 1n, 64)), /^693147180559945309[34]/);
    assert.match(decimal(lnOfRatio(10n, 1n, 64)), /^230258509299404568[34]/);
    assert.equal(lnOfRatio(1n, 10n, 64), -lnOfRatio(10n, 1n, 64));
    assert.equal(expOfNegative(0n, 64), 1n << 64n);
    assert.match(decimal(expOfNegative(-1n << 64n, 64)), /^367879441171442321/);
    assert.equal(expOfNegative(-1_000n << 64n, 64), 0n);
  });

  it("refuses arguments without a value or a proven error", () => {
    assert.throws(() => lnOfRatio(0n, 1n, 64), RangeError);
    assert.throws(() => lnOfRatio(1n, -1n, 64), RangeError);
    assert.throws(() => lnOfRatio(1n << 5_000n, 1n, 64), RangeError);
    assert.throws(() => lnOfRatio(2n, 1n, 161), RangeError);
    assert.throws(() => expOfNegative(1n, 64), RangeError);
    assert.throws(() => expOfNegative(0n, 0), RangeError);
  });
});
