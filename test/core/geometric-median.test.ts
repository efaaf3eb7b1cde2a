import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { MEDIAN_UNIT, geometricMedian, squareRoot } from "../../agents/core/protocols/leaderless/geometric-median.ts";
import { assertAbove, assertAtMost, assertBelow, assertClose } from "../support/assertions.ts";

type Point = readonly number[];

/** What pulls at a point, in floats: force and weighted mean of the other points, and how many lie on it. */
function pullAt(points: readonly Point[], at: Point): { mean: Point; force: number; multiplicity: number } {
  const others = points.filter((point) => distance(point, at) > 1e-12);
  const weights = others.map((point) => 1 / distance(point, at));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const weighted = (axis: number, from: number): number =>
    others.reduce((sum, point, index) => sum + ((point[axis] as number) - from) * (weights[index] as number), 0);
  return {
    mean: total === 0 ? at : at.map((_, axis) => weighted(axis, 0) / total),
    force: Math.hypot(...at.map((from, axis) => weighted(axis, from))),
    multiplicity: points.length - others.length,
  };
}

/** LL10 and LL11 in floats: input points first, then from the mean with the step of Vardi and Zhang. */
function floatMedian(points: readonly Point[]): Point {
  const known = points.find((point) => pullAt(points, point).force + 1e-6 <= pullAt(points, point).multiplicity);
  if (known !== undefined) return known;
  let at: Point = (points[0] as Point).map(
    (_, axis) => points.reduce((sum, point) => sum + (point[axis] as number), 0) / points.length,
  );
  for (let count = 0; count < 1000; count++) {
    const { mean, force, multiplicity } = pullAt(points, at);
    if (force <= multiplicity) return at;
    const share = 1 - multiplicity / force;
    const next = at.map((from, axis) => from + share * ((mean[axis] as number) - from));
    const moved = distance(next, at);
    at = next;
    if (moved <= 1e-5) break;
  }
  return at;
}

function distance(a: Point, b: Point): number {
  return Math.hypot(...a.map((coordinate, axis) => coordinate - (b[axis] as number)));
}

function cost(points: readonly Point[], at: Point): number {
  return points.reduce((sum, point) => sum + distance(point, at), 0);
}

const inUnits = (point: Point): Point => point.map((coordinate) => coordinate / MEDIAN_UNIT);
const mark = fc.integer({ min: 0, max: 20 });
const vector = fc.tuple(mark, mark, mark, mark, mark);
const vectors = fc.array(vector, { minLength: 1, maxLength: 15 });

describe("geometric median", () => {
  it("L11: of a triangle it is the point that sees all sides under 120 degrees", () => {
    // Fermat point of (0,0), (20,0), (10,17): on the axis of symmetry, 10 / tan(60 degrees) above the base.
    const [x, y] = inUnits(
      geometricMedian([
        [0, 0],
        [20, 0],
        [10, 17],
      ]),
    ) as [number, number];
    assertClose(x, 10, 1e-3);
    assertClose(y, 10 / Math.sqrt(3), 1e-3);
  });

  it("L11: agrees with a float implementation of the same iteration within 1e-3", () => {
    fc.assert(
      fc.property(vectors, (points) => {
        const exact = inUnits(geometricMedian(points));
        const reference = floatMedian(points);
        exact.forEach((coordinate, axis) => assertClose(coordinate, reference[axis] as number, 1e-3));
      }),
      { numRuns: 500 },
    );
  });

  it("L11: no input point and no neighbour of the result is cheaper by more than the tolerance allows", () => {
    fc.assert(
      fc.property(
        vectors,
        fc.array(fc.integer({ min: -100, max: 100 }), { minLength: 5, maxLength: 5 }),
        (points, shift) => {
          const found = inUnits(geometricMedian(points));
          const least = cost(points, found) - 5e-3 * points.length;
          for (const point of points) assertAbove(cost(points, point), least);
          assertAbove(
            cost(
              points,
              found.map((coordinate, axis) => coordinate + (shift[axis] as number) / 100),
            ),
            least,
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it("L12: the result does not depend on the order of the points", () => {
    fc.assert(
      fc.property(
        vectors.chain((points) =>
          fc.tuple(fc.constant(points), fc.shuffledSubarray(points, { minLength: points.length })),
        ),
        ([points, shuffled]) => {
          assert.deepEqual(geometricMedian(shuffled), geometricMedian(points));
        },
      ),
    );
  });

  it("L12: an input point is the exact result if it is the median, and is left behind if not", () => {
    const corners = [
      [0, 0],
      [20, 0],
      [0, 20],
      [20, 20],
    ];
    assert.deepEqual(geometricMedian([...corners, [10, 10]]), [10_000, 10_000]);
    assert.deepEqual(geometricMedian([...corners, [10, 9]]), [10_000, 9_000]);
    // The mean is the input point (5, 5), but the median lies elsewhere: the plain iteration would divide by zero there.
    const skew = [
      [5, 5],
      [4, 4],
      [4, 4],
      [4, 4],
      [4, 4],
      [0, 0],
      [14, 14],
    ];
    assert.deepEqual(geometricMedian(skew), [4_000, 4_000]);
    const start = [
      [10, 10],
      [9, 10],
      [9, 11],
      [9, 9],
      [13, 10],
    ];
    assert.equal(start.reduce((sum, [x]) => sum + (x as number), 0) / 5, 10);
    const left = inUnits(geometricMedian(start));
    assertBelow(left[0], 10);
    assertBelow(cost(start, left), cost(start, [10, 10]));
  });

  it("L12: one point, equal points and two points (where every point between is a median) have their fixed result", () => {
    assert.deepEqual(geometricMedian([[1, 2, 3, 4, 5]]), [1000, 2000, 3000, 4000, 5000]);
    assert.deepEqual(
      geometricMedian([
        [7, 7],
        [7, 7],
        [7, 7],
      ]),
      [7000, 7000],
    );
    assert.deepEqual(
      geometricMedian([
        [0, 0],
        [20, 10],
      ]),
      [10_000, 5_000],
    );
    assert.throws(() => geometricMedian([]), RangeError);
  });

  it("L02 L11: breakdown point: while the others are fewer than half, they cannot move it beyond the bound of the honest spread", () => {
    const honest = fc.array(fc.tuple(...[0, 1, 2, 3, 4].map(() => fc.integer({ min: 15, max: 20 }))), {
      minLength: 2,
      maxLength: 8,
    });
    fc.assert(
      fc.property(honest, fc.array(vector, { minLength: 8, maxLength: 8 }), (good, hostile) => {
        const bad = hostile.slice(0, good.length - 1);
        const centre = good[0] as Point;
        const spread = Math.max(...good.map((point) => distance(point, centre)));
        // Lopuhaa and Rousseeuw 1991: at most 2 (n - f) / (n - 2f) times the honest spread from any point within it.
        const bound = (2 * good.length * spread) / (good.length - bad.length);
        assertAtMost(distance(inUnits(geometricMedian([...good, ...bad])), centre), bound + 1e-2);
      }),
      { numRuns: 300 },
    );
  });

  it("L02 L11: more than half on one point hold it there exactly", () => {
    fc.assert(
      fc.property(vector, fc.array(vector, { maxLength: 7 }), (point, others) => {
        const points = [...Array.from({ length: others.length + 1 }, () => point), ...others];
        assert.deepEqual(
          geometricMedian(points),
          point.map((coordinate) => coordinate * MEDIAN_UNIT),
        );
      }),
    );
  });

  it("square roots are exact floors", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 1n << 120n }), (value) => {
        const root = squareRoot(value);
        assert.equal(root * root <= value && (root + 1n) * (root + 1n) > value, true);
      }),
    );
  });
});
