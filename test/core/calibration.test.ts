import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { calibratedConfidence, isotonicSteps, type CalibrationSample } from "../../agents/core/calibration.ts";
import { tierOf } from "../../agents/core/phases/tiers.ts";
import type { Ppm } from "../../agents/core/types.ts";
import { assertAbove, assertAtLeast, assertAtMost, assertBelow, assertClose } from "../support/assertions.ts";

const sample = fc.record({
  confidence: fc.integer({ min: 0, max: 40 }).map((value) => (25_000 * value) as Ppm),
  right: fc.boolean(),
});
const samples = fc.array(sample, { maxLength: 120 });
const least = fc.integer({ min: 1, max: 20 });
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** By definition: the greatest over all beginnings of the least mean up to any end, of groups of equal confidence. */
function byDefinition(given: readonly CalibrationSample[]): ReadonlyMap<number, number> {
  const values = [...new Set(given.map(({ confidence }) => confidence))].toSorted((a, b) => a - b);
  const mean = (from: number, to: number): number => {
    const own = given.filter(
      ({ confidence }) => confidence >= (values[from] as number) && confidence <= (values[to] as number),
    );
    return own.filter(({ right }) => right).length / own.length;
  };
  return new Map(
    values.map((value, index) => {
      const starts = values
        .slice(0, index + 1)
        .map((_, from) => Math.min(...values.slice(index).map((__, more) => mean(from, index + more))));
      return [value, Math.max(...starts)];
    }),
  );
}

describe("calibration: isotonic steps", () => {
  it("CF5, property: every sample is in one step, and shares and beginnings rise", () => {
    fc.assert(
      fc.property(samples, least, (given, bin) => {
        const steps = isotonicSteps(given, bin);
        assert.equal(sum(steps.map(({ of }) => of)), given.length);
        assert.equal(sum(steps.map(({ right }) => right)), given.filter(({ right }) => right).length);
        for (const [index, step] of steps.slice(1).entries()) {
          const before = steps[index] as typeof step;
          assertAbove(step.from, before.from);
          assertBelow(before.right * step.of, step.right * before.of);
        }
        if (given.length >= bin) for (const { of } of steps) assertAtLeast(of, bin);
      }),
    );
  });

  it("CF5, property: the order of the samples does not matter", () => {
    const shuffled = samples.chain((given) =>
      fc.tuple(fc.constant(given), fc.shuffledSubarray([...given], { minLength: given.length })),
    );
    fc.assert(
      fc.property(shuffled, least, ([given, other], bin) => {
        assert.deepEqual(isotonicSteps(other, bin), isotonicSteps(given, bin));
      }),
    );
  });

  it("CF5, property: with bins of one the shares are the isotonic regression, by its min-max formula", () => {
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1, maxLength: 25 }), (given) => {
        const steps = isotonicSteps(given, 1);
        for (const [confidence, share] of byDefinition(given)) {
          const step = steps.findLast(({ from }) => from <= confidence);
          assertClose((step?.right ?? NaN) / (step?.of ?? NaN), share, 1e-9);
        }
      }),
    );
  });

  it("CF6, property: a higher raw confidence never yields less, and equal ones yield the same", () => {
    const raw = fc.integer({ min: 0, max: 1_000_000 });
    fc.assert(
      fc.property(samples, least, raw, raw, (given, bin, a, b) => {
        const steps = isotonicSteps(given, bin);
        const [low, high] = [Math.min(a, b), Math.max(a, b)].map((one) => calibratedConfidence(steps, one as Ppm));
        assertAtMost(low, high as number);
        assertAtMost(high, 1_000_000);
        assertAtLeast(low, 0);
      }),
    );
  });

  it("CF1, CF6: a model that is always sure and right in six of ten cases states medium, not high", () => {
    const given = Array.from({ length: 100 }, (_, index) => ({ confidence: 990_000 as Ppm, right: index % 10 < 6 }));
    const confidence = calibratedConfidence(isotonicSteps(given, 20), 990_000 as Ppm);
    assert.equal(confidence, 598_039);
    assert.deepEqual([tierOf(990_000 as Ppm), tierOf(confidence), tierOf(null)], [900_000, 700_000, 700_000]);
  });

  it("CF6: below the first step its estimate; without steps as it is", () => {
    const steps = [
      { from: 200_000, right: 1, of: 3 },
      { from: 700_000, right: 8, of: 10 },
    ];
    const at = (raw: number): number => calibratedConfidence(steps, raw as Ppm);
    assert.deepEqual([0, 200_000, 699_999, 700_000, 1_000_000].map(at), [400_000, 400_000, 400_000, 750_000, 750_000]);
    assert.equal(calibratedConfidence([], 123 as Ppm), 123);
  });

  it("CF6: right answers alone never give certainty, and a few of them give no more than many earlier ones", () => {
    const all = { from: 900_000, right: 20, of: 20 };
    assert.equal(calibratedConfidence([all], 950_000 as Ppm), 954_545);
    const many = { from: 800_000, right: 391, of: 400 };
    assert.equal(calibratedConfidence([many, all], 950_000 as Ppm), 975_124);
  });
});
