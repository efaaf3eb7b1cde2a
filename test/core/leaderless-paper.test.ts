import { expect } from "chai";
import { describe, it } from "node:test";
import { majorityBaseline, ranking, twoThirdsBaseline } from "../../agents/core/protocols/leaderless/baselines.ts";
import { APPROVED, robustScore } from "../../agents/core/protocols/leaderless/select.ts";
import { TOTAL_MAX, totalOf, type Marks } from "../../agents/core/scores.ts";

/** DecentLLMs, Table I: totals of evaluators e0..e7 and of the Byzantine e8 (last row) for workers w0..w8 and the Byzantine w9. */
const HONEST = [
  [63, 95, 92, 75, 46, 50, 92, 96, 95, 6],
  [21, 98, 99, 55, 45, 41, 89, 99, 100, 22],
  [33, 100, 75, 45, 40, 35, 99, 100, 85, 0],
  [60, 80, 100, 80, 50, 94, 82, 82, 82, 38],
  [52, 83, 66, 57, 44, 84, 84, 83, 66, 35],
  [49, 53, 60, 19, 42, 27, 66, 66, 66, 7],
  [31, 52, 79, 49, 27, 17, 79, 84, 49, 34],
  [75, 100, 80, 100, 50, 64, 100, 100, 100, 39],
] as const;
const BYZANTINE = [0, 0, 0, 0, 0, 0, 0, 0, 0, 100] as const;
const CORRECT = [1, 2, 3, 6, 7];
const PAPER = [45.1, 83.8, 80.4, 55.6, 43.5, 42.0, 84.5, 88.2, 83.0, 28.5];

/** The paper prints totals, not vectors: each is spread over the criteria as evenly as integers allow, the rest to the first ones. */
function spread(total: number): Marks {
  return Array.from({ length: 5 }, (_, index) => Math.floor(total / 5) + (index < total % 5 ? 1 : 0));
}

function replay(byzantine: number): readonly number[] {
  const rows = [...HONEST, ...Array.from({ length: byzantine }, () => BYZANTINE)];
  return BYZANTINE.map((_, worker) => robustScore(rows.map((row) => spread(row[worker] as number))));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] as number;
}

describe("DecentLLMs, the paper's figures", () => {
  it("L19: Table I ranks exactly as the paper prints: w7 first, w9 last; scalar medians would tie w6 and w7 at 84", () => {
    const scores = replay(1);
    expect(ranking(scores)).to.deep.equal([7, 6, 1, 8, 2, 3, 0, 4, 5, 9]);
    expect(ranking(PAPER)).to.deep.equal(ranking(scores));
    scores.forEach((score, worker) => expect(score / 1000).to.be.closeTo(PAPER[worker] as number, 6));
    const columns = [6, 7].map((worker) => median([...HONEST, BYZANTINE].map((row) => row[worker] as number)));
    expect(columns).to.deep.equal([84, 84]);
  });

  it("L20 L02: colluders who give 100 to the Byzantine worker and 0 to all others: right up to 6 of 14, wrong at the bound", () => {
    for (let byzantine = 0; byzantine <= 6; byzantine++) {
      const [best] = ranking(replay(byzantine)) as readonly [number];
      expect(CORRECT).to.include(best);
      // LL8: w9 is approved by the colluders only, the best by most of the evaluators.
      const approvers = HONEST.filter((row) => (row[best] as number) >= APPROVED).length;
      expect(2 * approvers).to.be.greaterThan(HONEST.length + byzantine);
      expect(2 * byzantine).to.be.below(HONEST.length + byzantine);
    }
    // 8 of 16 is half: the bound floor((N - 1) / 2) = 7 is passed, and so is what may be asked of the median.
    expect(ranking(replay(9))[0]).to.equal(9);
  });

  it("L13: the scalar is the sum of five components, 0 to 100", () => {
    expect(robustScore([[20, 20, 20, 20, 20]])).to.equal(TOTAL_MAX * 1000);
    expect(robustScore([[0, 0, 0, 0, 0]])).to.equal(0);
    expect(robustScore([[1, 2, 3, 4, 5]])).to.equal(15_000);
    expect(robustScore([])).to.equal(0);
    expect(totalOf([1, 2, 3, 4, 5])).to.equal(15);
  });

  it("L18: the baselines take the ceil((N+1)/3)-th and the ceil((N+1)/2)-th best answer", () => {
    expect(twoThirdsBaseline([10, 90, 50, 70, 30, 80, 60])).to.equal(3);
    expect(majorityBaseline([10, 90, 50, 70, 30, 80, 60])).to.equal(6);
    expect([twoThirdsBaseline([5]), majorityBaseline([5])]).to.deep.equal([0, 0]);
    expect(() => majorityBaseline([])).to.throw(RangeError);
    // Table I: what leader-based voting would have made of it.
    expect(twoThirdsBaseline(PAPER)).to.equal(8);
    expect(majorityBaseline(PAPER)).to.equal(3);
  });
});
