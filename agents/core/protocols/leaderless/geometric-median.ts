/**
 * The geometric median: the point with the least sum of Euclidean distances to all points (docs/spec/leaderless.md LL9-LL11).
 * Weiszfeld's iteration with the step of Vardi and Zhang at input points, in fixed-point integers, so that every node computes
 * the same bits. Every sum is exact, so the result does not depend on the order of the points.
 */

/** One unit of a coordinate, in the fixed-point numbers of the iteration. */
const SCALE = 10n ** 12n;
/** One unit of length of a direction. */
const UNIT = 10n ** 15n;
/** Numerator of the weights 1 / distance. */
const WEIGHT = 10n ** 30n;
/** Length of the step that ends the iteration: 1e-5 (DecentLLMs, section IV). */
const TOLERANCE = SCALE / 100_000n;
const MAX_ITERATIONS = 1000;
/** The margin by which an input point must pass the test for the median: more than the rounding of the directions. */
const MARGIN = UNIT / 1_000_000n;
/** The result is in units of 1/1000. */
export const MEDIAN_UNIT = 1000;

type Vector = readonly bigint[];

/** The pull of all other points at a point: their weighted mean, the force of their unit vectors, and the number of points that coincide. */
interface Pull {
  readonly mean: Vector;
  /** Length of the sum of the unit vectors towards the other points, in `UNIT`. */
  readonly force: bigint;
  readonly coincident: number;
}

/** The median of at least one point of non-negative integers, all of one dimension; in units of 1/1000, rounded half up. */
export function geometricMedian(points: readonly (readonly number[])[]): readonly number[] {
  const scaled = points.map((point) => point.map((coordinate) => BigInt(coordinate) * SCALE));
  const median = medianAmong(scaled) ?? iterate(scaled);
  return median.map((coordinate) => Number((coordinate * BigInt(MEDIAN_UNIT) + SCALE / 2n) / SCALE));
}

/** LL11: an input point is the median if and only if the others pull at it with no more than its own multiplicity. */
function medianAmong(points: readonly Vector[]): Vector | null {
  return points.find((point) => holds(pullAt(points, point), MARGIN)) ?? null;
}

function holds({ force, coincident }: Pull, margin: bigint): boolean {
  return force + margin <= BigInt(coincident) * UNIT;
}

/** LL10: iterates from the mean, at most 1000 steps, until a step is no longer than 1e-5. */
function iterate(points: readonly Vector[]): Vector {
  let current = meanOf(points);
  for (let count = 0; count < MAX_ITERATIONS; count++) {
    const pull = pullAt(points, current);
    if (holds(pull, 0n)) return current;
    const next = stepFrom(current, pull);
    const isClose = distance(current, next) <= TOLERANCE;
    current = next;
    if (isClose) break;
  }
  return current;
}

/** Weiszfeld's step. From an input point it goes only as far as the pull exceeds the point's own weight (Vardi and Zhang, 2000). */
function stepFrom(current: Vector, { mean, force, coincident }: Pull): Vector {
  const held = BigInt(coincident) * UNIT;
  return current.map((from, axis) => from + (((mean[axis] as bigint) - from) * (force - held)) / force);
}

function pullAt(points: readonly Vector[], at: Vector): Pull {
  const weighted = at.map(() => 0n);
  const direction = at.map(() => 0n);
  let weights = 0n;
  let coincident = 0;
  for (const point of points) {
    const length = distance(point, at);
    if (length === 0n) {
      coincident++;
      continue;
    }
    const weight = WEIGHT / length;
    weights += weight;
    point.forEach((coordinate, axis) => {
      weighted[axis] = (weighted[axis] as bigint) + weight * coordinate;
      direction[axis] = (direction[axis] as bigint) + ((coordinate - (at[axis] as bigint)) * UNIT) / length;
    });
  }
  if (weights === 0n) return { mean: at, force: 0n, coincident };
  const mean = weighted.map((sum) => sum / weights);
  return { mean, force: squareRoot(sumOfSquares(direction)), coincident };
}

function meanOf(points: readonly Vector[]): Vector {
  const [first] = points;
  if (first === undefined) throw new RangeError("geometricMedian: there are no points");
  return first.map(
    (_, axis) => points.reduce((sum, point) => sum + (point[axis] as bigint), 0n) / BigInt(points.length),
  );
}

function distance(a: Vector, b: Vector): bigint {
  return squareRoot(sumOfSquares(a.map((coordinate, axis) => coordinate - (b[axis] as bigint))));
}

function sumOfSquares(vector: Vector): bigint {
  return vector.reduce((sum, coordinate) => sum + coordinate * coordinate, 0n);
}

/** floor(sqrt(value)), by Newton's method from above: the sequence falls until it has reached the root. */
export function squareRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << BigInt((value.toString(16).length * 4 + 1) >> 1);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}
