// Whether something grows: a straight line through samples, with an interval.
import { mean, sum } from "simple-statistics";

export interface Point {
  readonly hours: number;
  readonly value: number;
}

export interface Growth {
  readonly perHour: number;
  /** Ends of the 95 % interval. */
  readonly low: number;
  readonly high: number;
  /** Points behind it. */
  readonly points: number;
}

/** Two-sided, 95 %. */
const Z = 1.96;
/** Lives with fewer points after their first third say nothing. */
const LEAST_POINTS = 5;
/** Neighbours that are more alike than this would make the interval endless. */
const MOST_ALIKE = 0.95;

/**
 * Fits one slope to all lives by least squares, with a level for each life, after the first third of each. The interval takes
 * into account that neighbouring samples are alike (their residuals' first autocorrelation). Null if there are too few points.
 */
export function growthOf(lives: readonly (readonly Point[])[]): Growth | null {
  const kept = lives
    .map((life) => life.slice(Math.ceil(life.length / 3)))
    .filter(({ length }) => length >= LEAST_POINTS);
  const centred = kept.map(centre);
  const points = centred.flat();
  const spread = sum(points.map(({ hours }) => hours ** 2));
  if (spread === 0) return null;
  const perHour = sum(points.map(({ hours, value }) => hours * value)) / spread;
  const residuals = centred.map((life) => life.map(({ hours, value }) => value - perHour * hours));
  const squares = sum(residuals.flat().map((residual) => residual ** 2));
  const products = sum(
    residuals.map((life) => sum(life.slice(1).map((residual, index) => residual * (life[index] ?? 0)))),
  );
  const alike = squares === 0 ? 0 : Math.min(MOST_ALIKE, Math.max(0, products / squares));
  const freedom = points.length - kept.length - 1;
  const half = Z * Math.sqrt(((squares / freedom / spread) * (1 + alike)) / (1 - alike));
  return { perHour, low: perHour - half, high: perHour + half, points: points.length };
}

/** The points around their mean. */
function centre(life: readonly Point[]): readonly Point[] {
  const [hours, value] = [mean(life.map((point) => point.hours)), mean(life.map((point) => point.value))];
  return life.map((point) => ({ hours: point.hours - hours, value: point.value - value }));
}
