import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { SAFE_RIGHT, SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { policiesOf } from "../../agents/core/request/kinds.ts";
import { createUnanimous } from "../../agents/core/protocols/unanimous/index.ts";
import { gradePolicies } from "../../agents/core/protocols/unanimous/rules.ts";
import type { Attempt, Digest, Ppm, SeatIndex, Terms } from "../../agents/core/types.ts";
import { attemptOf } from "../support/core/committee.ts";
import { faultsOf } from "../support/core/run-results.ts";
import { decide, policies, type TurnActs } from "../support/core/unanimous-set.ts";
import { assertFields, assertWithin } from "../support/assertions.ts";

describe("unanimous: policies", () => {
  const candidates = (attempt: Attempt, sets: readonly string[]) =>
    sets.map((set, seat) => ({
      seat: seat as SeatIndex,
      target: `0x${"00".repeat(32)}` as Digest,
      answer: canonicalAnswer(attempt.request, set)!,
      proof: "",
      tier: 900_000 as Ppm,
    }));
  const grade = (sets: readonly string[]) => {
    const attempt = attemptOf(7, policies(4));
    return gradePolicies(attempt, candidates(attempt, sets));
  };

  it("D16, D17: A is the share that names it; accepted at exactly theta, not below", () => {
    assertFields(grade(["A", "A", "A,B", "B,C", "C", "D"]), { named: [3, 2, 2, 1], accepted: [0] });
    assert.deepEqual(grade(["A", "A", "A,B", "B", "C", "D", "D"]).accepted, []);
  });

  it("D18: confidence is the mean of A over the accepted policies, rounded down; without any there is no confidence", () => {
    assertFields(grade(["A,B", "A,B", "A,C"]), { accepted: [0, 1], confidence: 833_333 });
    assertFields(grade(["A", "B", "C"]), { accepted: [], confidence: null });
    assertFields(grade([]), { accepted: [], confidence: null, counted: 0 });
  });

  it("D11, UN11, UN13: agreement on the set goes to the conclusion round, whose sets are the answer", () => {
    const attempt = attemptOf(4, policies(4));
    const act = (round: number): TurnActs => ({ answer: round === 0 ? "A,B" : "B,D" });
    assert.equal(decide(attempt, 1, act), null);
    const outcome = decide(attempt, 2, act);
    assertFields(outcome, { answer: "B,D", confidence: 1_000_000, through: 1 });
    assert.deepEqual(policiesOf(outcome!.outcome), [1, 3]);
  });

  it("UN13, PH7: rounds that follow a conclusion conclude again, up to the last one there is", () => {
    const attempt = attemptOf(4, policies(4));
    for (const rounds of [2, 3, 4, 5]) {
      const outcome = decide(attempt, rounds, (round) => ({ answer: "ABCDA"[round] as string }));
      assertFields(outcome, { answer: "ABCDA"[rounds - 1], through: rounds - 1 });
    }
  });

  it("UN13: a conclusion round is repeated if too few seats count, or nothing is accepted", () => {
    const few = (round: number, seat: number): TurnActs => (round === 1 && seat < 2 ? {} : { answer: "A,B" });
    assert.equal(decide(attemptOf(4, policies(4)), 2, few), null);
    assertFields(decide(attemptOf(4, policies(4)), 3, few), { answer: "A,B", through: 2 });
    const apart = (round: number, seat: number): TurnActs => ({ answer: round === 1 ? "ABCD"[seat]! : "A,B" });
    assertFields(decide(attemptOf(4, policies(4)), 3, apart), { answer: "A,B", through: 2 });
  });

  it("UN11: reflection ends when the accepted policies outlast a turn, or after turn T", () => {
    const attempt = attemptOf(7, policies(6));
    const lone = (round: number, seat: number): TurnActs => ({ answer: seat === 0 ? "FDE"[round % 3]! : "A,B" });
    // Accepted in turns 0 and 1 alike: round 2 concludes.
    assertFields(decide(attempt, 3, lone), { answer: "A,B", through: 2 });
    // What is accepted changes all the time: T turns, then the conclusion.
    const restless = (round: number, seat: number): TurnActs => ({ answer: seat === 0 ? "F" : round % 2 ? "A" : "B" });
    assert.equal(decide(attempt, 4, restless), null);
    assertFields(decide(attempt, 5, restless), { answer: "B", through: 4 });
  });

  it("UN11: reflection ends only after turns in which more than 2/3 of the seats count", () => {
    const attempt = attemptOf(6, policies(4));
    // All who count in turn 0 name one set, but they are four of six.
    const few = (round: number, seat: number): TurnActs => (round === 0 && seat > 3 ? {} : { answer: "A" });
    assert.equal(decide(attempt, 2, few), null);
    assertFields(decide(attempt, 3, few), { answer: "A", through: 2 });
    const five = (round: number, seat: number): TurnActs => (round === 0 && seat > 4 ? {} : { answer: "A" });
    assertFields(decide(attempt, 2, five), { answer: "A", through: 1 });
    // What four of six accepted in turn 0 outlasts nothing; what five did, does.
    const apart =
      (counting: number) =>
      (round: number, seat: number): TurnActs =>
        round === 0 && seat >= counting ? {} : { answer: seat === 0 ? "A,B" : "A" };
    assert.equal(decide(attempt, 3, apart(4)), null);
    assertFields(decide(attempt, 4, apart(4)), { answer: "A", through: 3 });
    assertFields(decide(attempt, 3, apart(5)), { answer: "A", through: 2 });
  });

  it("D18, D22, UN14: without an accepted policy, or with too few seats that count, it is Hung without confidence", () => {
    const none = decide(attemptOf(4, policies(4)), 5, (_, seat) => ({ answer: "ABCD"[seat] as string }));
    assertFields(none, { status: "hung", confidence: 0, answer: "" });
    const few = decide(attemptOf(7, policies(4)), 5, (_, seat) => (seat < 4 ? { answer: "A" } : {}));
    assert.equal(few?.status, "hung");
  });

  describe("with non-answers", () => {
    const admitting = (attempt: Attempt): Attempt => ({
      ...attempt,
      request: { ...attempt.request, admitsNonAnswers: true },
    });
    const none = (seats: number): TurnActs => ({ answer: seats > 0 ? "unanswerable" : "A,B" });

    it("UN12: who gives one counts and names no policy; more than half of those who count accept it", () => {
      const attempt = admitting(attemptOf(7, policies(4)));
      const gradeOf = (sets: readonly string[]) => gradePolicies(attempt, candidates(attempt, sets));
      const half = gradeOf(["A", "A", "too early", "too early"]);
      assertFields(half, { named: [2, 0, 0, 0], accepted: [0], nonAnswer: null, confidence: 500_000 });
      const most = gradeOf(["A", "too early", "too early"]);
      assertFields(most, { named: [1, 0, 0, 0], accepted: [], confidence: 666_666 });
      assert.deepEqual(most.nonAnswer, { name: "tooEarly", seats: 2 });
      const apart = gradeOf(["A", "too early", "unanswerable"]);
      assertFields(apart, { accepted: [], nonAnswer: null, confidence: null });
    });

    it("UN11, UN13: one that outlasts a turn goes to the conclusion round, and is decided there", () => {
      const attempt = admitting(attemptOf(7, policies(6)));
      const lone = (round: number, seat: number): TurnActs => (seat === 0 ? { answer: "FDE"[round % 3]! } : none(1));
      assert.equal(decide(attempt, 2, lone), null);
      assertFields(decide(attempt, 3, lone), { status: "unanswerable", confidence: 857_142, through: 2 });
    });

    it("UN13: at high assurance more than 2/3 of all seats must give it", () => {
      const attempt = admitting(attemptOf(6, { ...policies(4), assurance: "high" }));
      const givenBy = (most: number) => (_: number, seat: number) => none(most - seat);
      assertFields(decide(attempt, 5, givenBy(4)), { status: "hung" });
      assertFields(decide(attempt, 5, givenBy(5)), { status: "unanswerable" });
    });
  });

  it("UN12, property: f seats alone neither add nor remove what all honest seats agree on, even if f of these are silent", () => {
    const set = fc.subarray(["A", "B", "C", "D"], { minLength: 1 }).map((letters) => letters.join(","));
    const sizes = fc.integer({ min: 4, max: 64 }).chain((n) => {
      const silent = fc.integer({ min: 0, max: faultsOf(n) });
      return fc.tuple(
        fc.constant(n),
        silent,
        fc.array(fc.option(set), { minLength: faultsOf(n), maxLength: faultsOf(n) }),
      );
    });
    fc.assert(
      fc.property(sizes, set, ([n, silent, byzantine], honest) => {
        const lies = byzantine.filter((one) => one !== null);
        const truths = Array.from({ length: n - faultsOf(n) - silent }, () => honest);
        fc.pre((lies.length + truths.length) * 3 > 2 * n);
        const attempt = attemptOf(4, policies(4));
        const { accepted } = gradePolicies(attempt, candidates(attempt, [...lies, ...truths]));
        assert.deepEqual(accepted, policiesOf(canonicalAnswer(attempt.request, honest)!.outcome));
      }),
      { numRuns: 300 },
    );
  });

  it("UN12: among 2 f + 1 seats that count, f + 1 are enough and f are not, for every f", () => {
    for (let f = 1; f <= 21; f++) {
      const attempt = attemptOf(4, policies(2));
      const sets = Array.from({ length: 2 * f + 1 }, (_, seat) => (seat < f ? "B" : "A"));
      assert.deepEqual(gradePolicies(attempt, candidates(attempt, sets)).accepted, [0]);
    }
  });

  it("UN13: at high assurance an accepted policy that 2/3 of all seats or fewer name hangs the decision; a subset is no answer", () => {
    const outcome = (assurance: Terms["assurance"], naming: number) =>
      decide(attemptOf(6, policies(4, assurance)), 5, (_, seat) => ({ answer: seat < naming ? "A,B" : "A" }));
    assert.equal(outcome("normal", 4)?.answer, "A,B");
    assert.equal(outcome("high", 4)?.status ?? "open", "hung");
    assert.equal(outcome("high", 5)?.answer, "A,B");
    assert.equal(outcome("high", 2)?.answer, "A");
  });

  it("confidence is greater the more the sets agree", () => {
    const measure = (sets: readonly string[]) => grade(sets).confidence;
    assert.deepEqual(
      [measure(["A,B", "A", "A,C", "B,D"]), measure(["A,B", "A,B", "A,B", "A,B"])],
      [625_000, 1_000_000],
    );
    assert.equal(measure(["A", "A", "A,B", "B,C"]), 625_000);
  });
});

describe("unanimous: pay", () => {
  it("D32, UN15: the first answer earns if it was decided; more turns, deviation and silence earn nothing, and deviation when sure costs a step", () => {
    const outcome = decide(attemptOf(7), 2, (round, seat) => {
      if (seat === 0) return { answer: "no", proof: "again" };
      if (seat === 1) return round === 0 ? {} : { answer: "yes" };
      return { answer: "yes" };
    });
    assertFields(outcome, { answer: "yes", through: 1 });
    assert.deepEqual(outcome?.shares, [0, 0, ...Array<number>(5).fill(SURE_RIGHT)]);
    assert.deepEqual(outcome?.reputationChanges, [{ seat: 0, steps: -1 }]);
  });

  it("UN15: a seat that followed the others earns nothing, and one that left before the end neither", () => {
    const outcome = decide(attemptOf(7), 2, (round, seat) => {
      if (seat === 0) return { answer: round === 0 ? "no" : "yes" };
      if (seat === 1) return round === 0 ? { answer: "yes" } : {};
      return { answer: "yes" };
    });
    assert.deepEqual(outcome?.shares, [0, 0, ...Array<number>(5).fill(SURE_RIGHT)]);
  });

  it("UN15: a set of policies earns by what it shares with the decided one", () => {
    const outcome = decide(attemptOf(4, policies(4)), 2, () => ({ answer: "A,B" }));
    assert.deepEqual(outcome?.shares, Array(4).fill(SURE_RIGHT));
    const mixed = decide(attemptOf(4, policies(4)), 3, (_, seat) =>
      seat === 0 ? { answer: "A,D", tier: 700_000 } : { answer: "A,B" },
    );
    // One of three in common.
    assert.deepEqual(mixed?.shares, [Math.floor(SAFE_RIGHT * 0.333_333), SURE_RIGHT, SURE_RIGHT, SURE_RIGHT]);
  });

  it("UN15, UN16: a Hung attempt pays the seats that took part to the end alike, and those below full reputation recover", () => {
    const outcome = decide(attemptOf(4, {}, [500_000]), 4, (_, seat) =>
      seat === 3 ? {} : { answer: seat < 2 ? "no" : "yes" },
    );
    assertFields(outcome, { status: "hung" });
    assert.deepEqual(outcome?.shares, [1, 1, 1, 0]);
    assert.deepEqual(outcome?.reputationChanges, [{ seat: 0, steps: 1 }]);
  });

  it("UN15: shares fit a byte in the longest deliberation", () => {
    const protocol = createUnanimous({ promptRatio: 0 as Ppm, turns: 10 });
    const outcome = decide(
      attemptOf(7, policies(4)),
      12,
      (round, seat) => ({ answer: seat === 0 ? "D" : round % 2 ? "A" : "B" }),
      protocol,
    );
    assert.equal(outcome?.through, 11);
    for (const share of outcome.shares) assertWithin(share, 0, 255);
  });
});
