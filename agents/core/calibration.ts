import { ONE_PPM, type Ppm } from "./types.ts";

/** How often a model is right at a raw confidence (docs/spec/confidence.md). */

/** CF5: answers in a bin; fewer say little. */
export const BIN_ANSWERS = 20;
/** CF5: questions without which there is no curve: two bins. */
export const LEAST_QUESTIONS = 2 * BIN_ANSWERS;

export interface CalibrationSample {
  readonly confidence: Ppm;
  readonly right: boolean;
}

/** From this raw confidence on, up to the next step, so many of so many answers were right. */
export interface CalibrationStep {
  readonly from: number;
  readonly right: number;
  readonly of: number;
}

/**
 * CF5: isotonic regression. Samples in order of confidence go into bins of at least `least`, equal confidences into one; adjacent bins of
 * which the later is right no more often are pooled until the share rises from step to step. The result does not depend on the samples' order.
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
 * CF6: the greatest estimate of a step up to the one that the raw confidence lies in, rounded down; below the first step its estimate.
 * No steps: as it is.
 */
export function calibratedConfidence(steps: readonly CalibrationStep[], raw: Ppm): Ppm {
  const [first, ...others] = steps;
  if (first === undefined) return raw;
  const reached = [first, ...others.filter(({ from }) => from <= raw)];
  return reached.map(estimateOf).reduce((most, one) => (one > most ? one : most));
}

/** The rule of succession: no count of answers, all of them right, makes certain. */
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

/** By the share of right answers. */
export function isBelow(a: CalibrationStep, b: CalibrationStep): boolean {
  return a.right * b.of < b.right * a.of;
}
