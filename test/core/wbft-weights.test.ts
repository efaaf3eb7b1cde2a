import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { capped, isQuorum, sumOf } from "../../agents/core/protocols/wbft/weights.ts";
import type { SeatIndex } from "../../agents/core/types.ts";
import { assertAtMost, assertBelow, assertWithin } from "../support/assertions.ts";
import { attemptFor, type Acts, all, upTo, weightsIn, yeses } from "../support/core/wbft-acts.ts";

describe("wbft weights", () => {
  it("WB6: two marks of one seat for one class cancel, if members gave both answers", () => {
    const attempt = attemptFor(4, { kind: "number", decimals: 0, tolerance: 1n });
    const views = [{ lead: 0, prepare: all(0), final: upTo(3, 0) }];
    const weights = (acts: Partial<Acts>) => weightsIn(attempt, { answers: ["10", "10", "10", "10"], views, ...acts });
    const scored = weights({ scores: () => 50 });
    assert.notDeepEqual(scored, weights({ scores: () => null }));
    assert.deepEqual(weights({ answers: ["10", "10", "10", "11"], scores: () => 50 }), weights({ scores: () => null }));
    // Marks of what nobody gave take nothing from those of what somebody gave, within the tolerance or not.
    for (const answer of ["11", "12"])
      assert.deepEqual(weights({ scores: () => 50, more: { seats: [1, 2], answer } }), scored);
  });

  it("WB6: marks of another class are not marks of this one, though that answer is within the tolerance, too", () => {
    const attempt = attemptFor(7, { kind: "number", decimals: 0, tolerance: 10n });
    const views = [{ lead: 0, prepare: all(0), final: upTo(3, 0) }];
    // 25 is within the tolerance of 15, and in the class of 30.
    const answers = ["25", "30", "30", "35", "15", "15", "60"];
    const weights = weightsIn(attempt, { answers, views, scores: () => 50 });
    assert.deepEqual(weights.slice(4), [weights[6], weights[6], weights[6]]);
    assertBelow(weights[0], weights[6] as number);
  });

  it("WB8: after the cut any f seats weigh less than 1/3, all weights stay positive, none grows, the order is kept", () => {
    const weights = fc
      .integer({ min: 4, max: 40 })
      .chain((n) => fc.array(fc.integer({ min: 6, max: 10_000_000 }), { minLength: n, maxLength: n }));
    fc.assert(
      fc.property(weights, (raw) => {
        const faults = Math.floor((raw.length - 1) / 3);
        const cut = capped(raw, faults);
        const heaviest = cut.toSorted((a, b) => b - a).slice(0, faults);
        assertBelow(3 * sumOf(heaviest), sumOf(cut));
        cut.forEach((weight, seat) => {
          assertWithin(weight, 1, raw[seat] as number);
          raw.forEach((other, of) => {
            if (other <= (raw[seat] as number)) assertAtMost(cut[of], weight);
          });
        });
        // The level is the greatest: one more is too much, or nothing was cut.
        const level = Math.max(...cut);
        const more = raw.map((weight) => Math.min(weight, level + 1));
        const top = more.toSorted((a, b) => b - a).slice(0, faults);
        assert.equal(level === Math.max(...raw) || 3 * sumOf(top) >= sumOf(more), true);
      }),
      { numRuns: 300 },
    );
  });

  it("WB8: examples: equal weights stay; one giant is cut to less than 1/3; two giants fall to the weight of the others", () => {
    assert.deepEqual(capped([5, 5, 5, 5], 1), [5, 5, 5, 5]);
    assert.deepEqual(capped([100, 10, 10, 10], 1), [14, 10, 10, 10]);
    assert.deepEqual(capped([1000, 1000, 1, 1], 1), [1, 1, 1, 1]);
  });

  it("WB8 WB9: two quorums share an honest seat, and the honest seats are one, whatever f seats and whatever weights", () => {
    const scenario = fc.integer({ min: 4, max: 16 }).chain((n) =>
      fc.tuple(
        fc.array(fc.integer({ min: 6, max: 10_000_000 }), { minLength: n, maxLength: n }),
        fc.shuffledSubarray(
          Array.from({ length: n }, (_, seat) => seat as SeatIndex),
          { minLength: n },
        ),
        fc.array(fc.boolean(), { minLength: n, maxLength: n }),
        fc.array(fc.boolean(), { minLength: n, maxLength: n }),
        fc.constantFrom("normal" as const, "high" as const),
      ),
    );
    fc.assert(
      fc.property(scenario, ([raw, order, inOne, inOther, assurance]) => {
        const attempt = attemptFor(raw.length, { assurance });
        const faults = Math.floor((raw.length - 1) / 3);
        const weights = capped(raw, faults);
        const hostile = order.slice(0, faults);
        const honest = order.slice(faults);
        assert.equal(isQuorum(attempt, weights, honest), true);
        assert.equal(isQuorum(attempt, weights, hostile), false);
        const [one, other] = [inOne, inOther].map((chosen) => [
          ...hostile,
          ...honest.filter((seat) => chosen[seat]),
        ]) as [SeatIndex[], SeatIndex[]];
        if (!isQuorum(attempt, weights, one) || !isQuorum(attempt, weights, other)) return;
        assert.equal(
          honest.some((seat) => one.includes(seat) && other.includes(seat)),
          true,
        );
      }),
      { numRuns: 300 },
    );
  });

  it("WB6 WB7: quality is the median of what the others give: nobody's own score counts, f colluders neither lift nor sink", () => {
    const n = 7;
    const attempt = attemptFor(n);
    const order = canonicalOrder(attempt);
    const liars = order.slice(0, 2) as readonly number[];
    const answers = order.map((_, seat) => (liars.includes(seat) ? "no" : "yes"));
    const first = answers.indexOf("yes");
    const vote = (seat: number): number | null => (liars.includes(seat) ? null : first);
    const views = [{ lead: first, prepare: vote, final: vote }];
    const honest = (answer: string): number => (answer === "yes" ? 90 : 10);
    const weights = (scores: NonNullable<Acts["scores"]>) => weightsIn(attempt, { answers, scores, views });
    // 0.6 + 0.4 * 0.9, and 0.6 + 0.4 * 0.1 of a liar.
    const expected = answers.map((_, seat) => (liars.includes(seat) ? 6_400_000 : 9_600_000));
    assert.deepEqual(
      weights((_, answer) => honest(answer)),
      expected,
    );
    assert.deepEqual(
      weights((seat, answer) => (liars.includes(seat) ? 100 - honest(answer) : honest(answer))),
      expected,
    );
    assert.deepEqual(
      weights((seat, answer) => (liars.includes(seat) ? null : honest(answer))),
      expected,
    );
  });

  it("WB6: the lower median; with most of the others silent it is 0", () => {
    const attempt = attemptFor(4, {}, [500_000, 1_000_000, 1_000_000, 1_000_000]);
    const views = [{ lead: 0, prepare: all(0), final: upTo(3, 0) }];
    const weights = (scores: NonNullable<Acts["scores"]>) => weightsIn(attempt, { answers: yeses(4), scores, views });
    // Seat 0 weighs 0.3 + 0.4 q, the others 0.6 + 0.4 q.
    const expected = (q: readonly number[]) =>
      q.map((quality, seat) => (seat === 0 ? 3_000_000 : 6_000_000) + 40_000 * quality);
    assert.deepEqual(
      weights(() => 100),
      expected([100, 100, 100, 100]),
    );
    assert.deepEqual(
      weights((seat) => seat * 10),
      expected([20, 20, 10, 10]),
    );
    assert.deepEqual(
      weights((seat) => (seat < 2 ? null : 60)),
      expected([60, 60, 0, 0]),
    );
  });
});
