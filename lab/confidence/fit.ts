import { isotonicSteps, type CalibrationStep } from "../../agents/core/calibration.ts";
import type { Ppm } from "../../agents/core/types.ts";
import { createRandom } from "../../sim/random.ts";
import type { Interval } from "../eval/statistics.ts";
import type { Recorded } from "./record.ts";

/** A recorded decision that did not hang. */
export interface Certified extends Recorded {
  readonly backing: Ppm;
}

/** CF9: different questions that a step needs. */
const LEAST_QUESTIONS = 20;
const BINS = 5;
const RESAMPLES = 1_000;

export function certifiedOf(decisions: readonly Recorded[]): readonly Certified[] {
  return decisions.filter((one): one is Certified => one.backing !== null);
}

/** CF9: the steps of an isotonic regression; a question counts once in a step, whatever number of committees decided it. */
export function stepsOf(decisions: readonly Certified[]): readonly CalibrationStep[] {
  const each = Math.ceil(decisions.length / questionsOf(decisions));
  const samples = decisions.map(({ backing, right }) => ({ confidence: backing, right }));
  const steps = isotonicSteps(samples, LEAST_QUESTIONS * each);
  return steps.map(({ from, right, of }, index) => {
    const end = steps[index + 1]?.from ?? Number.POSITIVE_INFINITY;
    const questions = questionsOf(decisions.filter(({ backing }) => backing >= from && backing < end));
    return { from, right: Math.floor((right * questions) / of), of: questions };
  });
}

export function questionsOf(decisions: readonly Recorded[]): number {
  return Map.groupBy(decisions, questionOf).size;
}

function questionOf({ seed, question }: Recorded): string {
  return `${seed} ${question}`;
}

/** How far decisions of a kind are right as often as they say. */
export interface Reliability {
  readonly decisions: number;
  readonly questions: number;
  /** Mean confidence, and the part that is right. */
  readonly said: number;
  readonly right: number;
  /** Expected calibration error over bins of equally many decisions, with its 95 % interval. */
  readonly error: number;
  readonly interval: Interval;
}

/** Compares what decisions say with how many are right; resamples whole questions, as one question's decisions hang together. */
export function reliabilityOf(decisions: readonly Certified[], confidenceOf: (backing: Ppm) => Ppm): Reliability {
  const groups = [...Map.groupBy(decisions, questionOf).values()];
  const random = createRandom(decisions.length, "reliability");
  const errors = Array.from({ length: RESAMPLES }, () =>
    errorOf(
      groups.flatMap(() => random.pick(groups)),
      confidenceOf,
    ),
  ).toSorted((a, b) => a - b);
  return {
    decisions: decisions.length,
    questions: groups.length,
    said: mean(decisions.map(({ backing }) => confidenceOf(backing) / 1e6)),
    right: mean(decisions.map(({ right }) => Number(right))),
    error: errorOf(decisions, confidenceOf),
    interval: [errors[Math.floor(0.025 * RESAMPLES)] as number, errors[Math.ceil(0.975 * RESAMPLES) - 1] as number],
  };
}

/** Decisions go into the bins in order of their backing, those with the same one into the same bin. */
function errorOf(decisions: readonly Certified[], confidenceOf: (backing: Ppm) => Ppm): number {
  const sorted = decisions.toSorted((a, b) => a.backing - b.backing);
  const bins: Certified[][] = [];
  for (const one of sorted) {
    const last = bins.at(-1);
    const isFull = last !== undefined && last.length >= decisions.length / BINS && last.at(-1)?.backing !== one.backing;
    if (last === undefined || isFull) bins.push([one]);
    else last.push(one);
  }
  const gaps = bins.map((bin) =>
    Math.abs(bin.reduce((sum, { backing, right }) => sum + confidenceOf(backing) / 1e6 - Number(right), 0)),
  );
  return gaps.reduce((sum, gap) => sum + gap, 0) / decisions.length;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
