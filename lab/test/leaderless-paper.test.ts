import { expect } from "chai";
import { describe, it } from "node:test";
import { majorityBaseline, ranking, twoThirdsBaseline } from "../references/leaderless-baselines.ts";
import { APPROVED, robustScore } from "../../agents/core/protocols/leaderless/select.ts";
import { TOTAL_MAX, totalOf } from "../../agents/core/phases/scores.ts";
import { COLLUDER, CORRECT, HONEST, PAPER_SCORES, replay, resilienceAt } from "../papers/decentllms-table.ts";

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] as number;
}

describe("DecentLLMs, the paper's figures", () => {
  it("L19: Table I ranks exactly as the paper prints: w7 first, w9 last; scalar medians would tie w6 and w7 at 84", () => {
    const scores = replay(1);
    expect(ranking(scores)).to.deep.equal([7, 6, 1, 8, 2, 3, 0, 4, 5, 9]);
    expect(ranking(PAPER_SCORES)).to.deep.equal(ranking(scores));
    scores.forEach((score, worker) => expect(score / 1000).to.be.closeTo(PAPER_SCORES[worker] as number, 6));
    const columns = [6, 7].map((worker) => median([...HONEST, COLLUDER].map((row) => row[worker] as number)));
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
    // LL8: at half of the evaluators nobody wins rather than w9; a majority of colluders gets it through.
    expect(resilienceAt(7)).to.include({ best: 6, pushedRank: 6, approvedBest: 6 });
    expect(resilienceAt(8)).to.include({ best: 9, pushedRank: 1, approvedBest: null });
    expect(resilienceAt(9)).to.include({ best: 9, pushedRank: 1, approvedBest: 9 });
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
    expect(twoThirdsBaseline(PAPER_SCORES)).to.equal(8);
    expect(majorityBaseline(PAPER_SCORES)).to.equal(3);
  });
});
