import { ONE_PPM, type Ppm } from "./types.ts";

/** How often a model is right at a raw confidence (docs/spec/confidence.md). */

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

/** CF6: the share of the step that the raw confidence lies in, rounded down; below the first step its share. No steps: as it is. */
export function calibratedConfidence(steps: readonly CalibrationStep[], raw: Ppm): Ppm {
  const step = steps.findLast(({ from }) => from <= raw) ?? steps[0];
  return step === undefined ? raw : (Math.floor((step.right * ONE_PPM) / step.of) as Ppm);
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

function isBelow(a: CalibrationStep, b: CalibrationStep): boolean {
  return a.right * b.of < b.right * a.of;
}
