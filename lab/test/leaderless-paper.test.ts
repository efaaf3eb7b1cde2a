import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { majorityBaseline, ranking, twoThirdsBaseline } from "../references/leaderless-baselines.ts";
import { APPROVED, robustScore } from "../../agents/core/protocols/leaderless/select.ts";
import { TOTAL_MAX, totalOf } from "../../agents/core/phases/scores.ts";
import { COLLUDER, CORRECT, HONEST, PAPER_SCORES, replay, resilienceAt } from "../papers/decentllms-table.ts";
import { assertAbove, assertBelow, assertClose, assertFields, assertIncludes } from "../../test/support/assertions.ts";

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] as number;
}

describe("DecentLLMs, the paper's figures", () => {
  it("L19: Table I ranks exactly as the paper prints: w7 first, w9 last; scalar medians would tie w6 and w7 at 84", () => {
    const scores = replay(1);
    assert.deepEqual(ranking(scores), [7, 6, 1, 8, 2, 3, 0, 4, 5, 9]);
    assert.deepEqual(ranking(PAPER_SCORES), ranking(scores));
    scores.forEach((score, worker) => assertClose(score / 1000, PAPER_SCORES[worker] as number, 6));
    const columns = [6, 7].map((worker) => median([...HONEST, COLLUDER].map((row) => row[worker] as number)));
    assert.deepEqual(columns, [84, 84]);
  });

  it("L20 L02: colluders who give 100 to the Byzantine worker and 0 to all others: right up to 6 of 14, wrong at the bound", () => {
    for (let byzantine = 0; byzantine <= 6; byzantine++) {
      const [best] = ranking(replay(byzantine)) as readonly [number];
      assertIncludes(CORRECT, best);
      // LL8: w9 is approved by the colluders only, the best by most of the evaluators.
      const approvers = HONEST.filter((row) => (row[best] as number) >= APPROVED).length;
      assertAbove(2 * approvers, HONEST.length + byzantine);
      assertBelow(2 * byzantine, HONEST.length + byzantine);
    }
    // 8 of 16 is half: it exceeds the bound floor((N - 1) / 2) = 7 up to which the median is robust.
    assert.equal(ranking(replay(9))[0], 9);
    // LL8: with half of the evaluators no worker wins, instead of w9; a majority of colluders makes w9 win.
    assertFields(resilienceAt(7), { best: 6, pushedRank: 6, approvedBest: 6 });
    assertFields(resilienceAt(8), { best: 9, pushedRank: 1, approvedBest: null });
    assertFields(resilienceAt(9), { best: 9, pushedRank: 1, approvedBest: 9 });
  });

  it("L13: the scalar is the sum of five components, 0 to 100", () => {
    assert.equal(robustScore([[20, 20, 20, 20, 20]]), TOTAL_MAX * 1000);
    assert.equal(robustScore([[0, 0, 0, 0, 0]]), 0);
    assert.equal(robustScore([[1, 2, 3, 4, 5]]), 15_000);
    assert.equal(robustScore([]), 0);
    assert.equal(totalOf([1, 2, 3, 4, 5]), 15);
  });

  it("L18: the baselines take the ceil((N+1)/3)-th and the ceil((N+1)/2)-th best answer", () => {
    assert.equal(twoThirdsBaseline([10, 90, 50, 70, 30, 80, 60]), 3);
    assert.equal(majorityBaseline([10, 90, 50, 70, 30, 80, 60]), 6);
    assert.deepEqual([twoThirdsBaseline([5]), majorityBaseline([5])], [0, 0]);
    assert.throws(() => majorityBaseline([]), RangeError);
    // Table I: the result of leader-based voting.
    assert.equal(twoThirdsBaseline(PAPER_SCORES), 8);
    assert.equal(majorityBaseline(PAPER_SCORES), 3);
  });
});
