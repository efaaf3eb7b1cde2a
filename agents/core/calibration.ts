import { ONE_PPM, type Ppm } from "./types.ts";

/** Calibration: the part of right answers of a model at a raw confidence (docs/spec/confidence.md). */

/** CF5: answers in a bin; a smaller bin says little. */
export const BIN_ANSWERS = 20;
/** CF5: the least number of questions for a curve: two bins. */
export const LEAST_QUESTIONS = 2 * BIN_ANSWERS;

export interface CalibrationSample {
  readonly confidence: Ppm;
  readonly right: boolean;
}

/** One step of the curve: from this raw confidence up to the next step, `right` of `of` answers were right. */
export interface CalibrationStep {
  readonly from: number;
  readonly right: number;
  readonly of: number;
}

/**
 * CF5: isotonic regression. Samples go, in order of confidence, into bins of at least `least`, equal confidences into the same bin.
 * Adjacent bins are pooled while the later one is right no more often, so that the part rises from step to step. The result does not
 * depend on the order of the samples.
 */
export function isotonicSteps(samples: readonly CalibrationSample[], least: number): readonly CalibrationStep[] {
  const steps: CalibrationStep[] = [];
  for (const bin of binned(samples, least)) {
    let pooled = bin;
    for (let last = steps.at(-1); last !== undefined && !isBelow(last, pooled); last = steps.at(-1)) {
      steps.pop();
      pooled = together(last, pooled);
    }
    steps.push(pooled);
  }
  return steps;
}

/**
 * CF6: the greatest estimate of the steps up to the one that the raw confidence lies in, rounded down. Below the first step, the first
 * step's estimate. Without steps, the raw confidence.
 */
export function calibratedConfidence(steps: readonly CalibrationStep[], raw: Ppm): Ppm {
  const [first, ...others] = steps;
  if (first === undefined) return raw;
  const reached = [first, ...others.filter(({ from }) => from <= raw)];
  return reached.map(estimateOf).reduce((most, one) => (one > most ? one : most));
}

/** The rule of succession: even if all answers were right, no number of them gives certainty. */
function estimateOf({ right, of }: CalibrationStep): Ppm {
  return Math.floor(((right + 1) * ONE_PPM) / (of + 2)) as Ppm;
}

function binned(samples: readonly CalibrationSample[], least: number): readonly CalibrationStep[] {
  const sorted = samples.toSorted((a, b) => a.confidence - b.confidence);
  const bins: CalibrationStep[] = [];
  let before: Ppm | null = null;
  for (const { confidence, right } of sorted) {
    const one = { from: confidence, right: Number(right), of: 1 };
    const last = bins.at(-1);
    if (last !== undefined && (last.of < least || confidence === before)) bins[bins.length - 1] = together(last, one);
    else bins.push(one);
    before = confidence;
  }
  const [last, ...earlier] = bins.toReversed();
  const [previous, ...others] = earlier;
  if (last === undefined || previous === undefined || last.of >= least) return bins;
  return [...others.toReversed(), together(previous, last)];
}

function together(a: CalibrationStep, b: CalibrationStep): CalibrationStep {
  return { from: a.from, right: a.right + b.right, of: a.of + b.of };
}

/** True if the part of right answers of `a` is below that of `b`. */
export function isBelow(a: CalibrationStep, b: CalibrationStep): boolean {
  return a.right * b.of < b.right * a.of;
}
