import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { reasonsStepByStep } from "../../agents/core/protocols/unanimous/config.ts";
import { createUnanimous, unanimous } from "../../agents/core/protocols/unanimous/index.ts";
import { speakingOrder } from "../../agents/core/protocols/unanimous/prompts.ts";
import { addMessage, emptyTally, messagesOf } from "../../agents/core/seat/tally.ts";
import type { Ppm, SeatIndex, Terms } from "../../agents/core/types.ts";
import { attemptOf } from "../support/core/committee.ts";
import { faultsOf } from "../support/core/run-results.ts";
import {
  CLOSE,
  COMMIT,
  REVEAL,
  concluded,
  decide,
  policies,
  seats,
  turnsOf,
  type TurnActs,
} from "../support/core/unanimous-set.ts";
import { assertAbove, assertFields } from "../support/assertions.ts";

describe("unanimous: settings and order", () => {
  it("D01: a committee that cannot have n > 3t with t >= 1 is refused, with a reason", () => {
    for (const n of [1, 2, 3]) assert.match(String(unanimous.refuseRequest(attemptOf(n))), /committee size/);
    for (const n of [4, 7, 64]) assert.equal(unanimous.refuseRequest(attemptOf(n)), null);
  });

  it("D05: the first ceil(ratio n) seats of the canonical order reason step by step, whatever their seat numbers", () => {
    for (const n of [4, 5, 7, 10, 13]) {
      const attempt = attemptOf(n);
      for (const [ratio, size] of [
        [0, 0],
        [250_000, Math.ceil(n / 4)],
        [500_000, Math.ceil(n / 2)],
        [750_000, Math.ceil((3 * n) / 4)],
        [1_000_000, n],
      ] as const) {
        const group = canonicalOrder(attempt).filter((seat) => reasonsStepByStep(attempt, seat, ratio as Ppm));
        assert.deepEqual(group, canonicalOrder(attempt).slice(0, size));
      }
    }
  });

  it("D05, D09: any other ratio, and T outside 1..10, is a configuration error", () => {
    for (const settings of [
      { promptRatio: 300_000, turns: 3 },
      { promptRatio: 1_250_000, turns: 3 },
      { promptRatio: 500_000, turns: 0 },
      { promptRatio: 500_000, turns: 11 },
      { promptRatio: 500_000, turns: 2.5 },
    ])
      assert.throws(() => createUnanimous(settings as never), { code: "CONFIG_INVALID" }, JSON.stringify(settings));
  });

  it("D08: round-robin: every seat once, in canonical order, and each round begins one seat later", () => {
    const attempt = attemptOf(7);
    const order = canonicalOrder(attempt);
    for (let round = 0; round < 15; round++) {
      const speaking = speakingOrder(attempt, round);
      assert.deepEqual(
        [...speaking].toSorted((a, b) => a - b),
        [0, 1, 2, 3, 4, 5, 6],
      );
      assert.equal(speaking[0], order[round % 7]);
      assert.equal(speaking[1], order[(round + 1) % 7]);
    }
  });

  it("D11, D12: only policies have a conclusion round", () => {
    const refusal = (terms: Partial<Terms>, round: number) =>
      unanimous.rejectPayload(
        attemptOf(4, terms),
        { round, phase: COMMIT, seat: 0 as SeatIndex },
        { commitment: null },
      );
    for (const kind of ["boolean", "choice", "number", "text"] as const) {
      assert.equal(refusal({ kind, options: 3 }, 3), null);
      assert.equal(refusal({ kind, options: 3 }, 4), "no-such-round");
    }
    assert.equal(refusal(policies(3), 4), null);
    assert.equal(refusal(policies(3), 5), "no-such-round");
  });

  it("UN1: phasesAtMost counts every phase of every round", () => {
    assert.equal(unanimous.phasesAtMost(attemptOf(4)), 12);
    assert.equal(unanimous.phasesAtMost(attemptOf(4, { kind: "text" })), 16);
    assert.equal(unanimous.phasesAtMost(attemptOf(4, policies(3))), 15);
  });
});

describe("unanimous: definitive questions", () => {
  for (const n of [4, 5, 6, 7, 10, 13]) {
    it(`UN6, UN9 n = ${n}: more than 2/3 of all seats decide when the others are silent; exactly 2/3 or fewer do not`, () => {
      const most = Math.floor((2 * n) / 3);
      for (const [agreeing, isDecided] of [
        [most, false],
        [most + 1, true],
      ] as const) {
        // The abstaining ones speak, so the round is complete.
        const outcome = decide(attemptOf(n), 1, (_, seat) => (seat < agreeing ? { answer: "yes" } : {}));
        assert.equal(outcome?.answer ?? null, isDecided ? "yes" : null);
        // UN9: the confidence is 1.
        if (isDecided) assert.equal(outcome?.confidence, 1_000_000);
      }
    });
  }

  it("D13: one seat with another answer prevents unanimity, however many agree", () => {
    for (const n of [4, 7, 10, 13])
      assert.equal(
        decide(attemptOf(n), 1, (_, seat) => ({ answer: seat === 0 ? "no" : "yes" })),
        null,
      );
  });

  it("D14, D15: equality is of canonical values; arguments differ without breaking unanimity", () => {
    const variants = {
      boolean: [["yes", "Yes", " TRUE", "y"], "yes"],
      choice: [["B", "b", "B)", "b."], "B"],
      number: [["10", "10.0", "+10", "010"], "10"],
      text: [["Pay the bill.", " Pay  the bill.", "Pay the bill. ", "Pay the bill."], "Pay the bill."],
    } as const;
    for (const kind of ["boolean", "choice", "number", "text"] as const) {
      const [answers, expected] = variants[kind];
      const outcome = decide(attemptOf(4, { kind, options: 4, decimals: 1 }), 1, (_, seat) => ({
        answer: answers[seat] as string,
        proof: `argument of ${seat}`,
      }));
      assert.equal(outcome?.answer, expected, kind);
    }
  });

  it("D14: numbers agree within the tolerance, and no further", () => {
    const outcome = (tolerance: bigint) =>
      decide(attemptOf(4, { kind: "number", tolerance }), 1, (_, seat) => ({ answer: String(10 + seat) }))?.answer ??
      null;
    assert.equal(outcome(3n), "11");
    assert.equal(outcome(2n), null);
  });

  it("D14: differing texts are unanimous when more than half of the seats judge them the same", () => {
    const [one, other] = ["It is due.", "Due, yes."];
    const outcome = (judges: number) =>
      decide(attemptOf(4, { kind: "text" }), 1, (_, seat) => ({
        answer: seat === 0 ? other : one,
        same: seat < judges ? [[one, other]] : [],
      }))?.answer ?? null;
    assert.equal(outcome(2), null);
    assert.equal(outcome(3), one);
  });

  it("PH4: an answer that half of the seats or fewer held in time does not count", () => {
    for (const holders of [3, 4]) {
      const outcome = decide(attemptOf(6), 1, (_, seat) => ({
        answer: seat === 0 ? "no" : "yes",
        sees: (phase, of) => phase !== REVEAL || of !== 0 || seat < holders,
      }));
      assert.equal(outcome === null, holders === 4);
    }
  });

  it("D34, UN7: a hold-out that repeats its answer without a new argument is excluded in the second turn", () => {
    const run = (proofs: readonly string[], answers: readonly string[] = ["no", "no"]) =>
      decide(attemptOf(4), 2, (round, seat) =>
        seat === 0 ? { answer: answers[round] as string, proof: proofs[round] as string } : { answer: "yes" },
      );
    assertFields(run(["the limit is exceeded", "the limit is exceeded"]), { answer: "yes", through: 1 });
    assert.equal(run(["the limit is exceeded", "The  limit is EXCEEDED!"])?.answer, "yes");
    assert.equal(run(["the limit is exceeded", ""])?.answer, "yes");
    assert.equal(run(["the limit is exceeded", "and it is Sunday"]), null);
    // Arguments in other scripts are arguments.
    assert.equal(run(["предел превышен", "сегодня воскресенье"]), null);
    assert.equal(run(["предел превышен", "предел  превышен."])?.answer, "yes");
  });

  it("D34, UN7: an argument of two turns ago is not new either; another answer in between is no repetition", () => {
    const proofs = ["one", "two", "one"];
    const run = (answers: readonly string[], leads: readonly boolean[]) =>
      decide(attemptOf(7, { kind: "choice", options: 4 }), 3, (round, seat) => {
        if (seat === 0) return { answer: answers[round] as string, proof: proofs[round] as string };
        return { answer: seat < 4 && !leads[round] ? "B" : "A" };
      });
    // Leading only in turns 1 and 2, so that UN8 does not apply.
    assertFields(run(["C", "C", "C"], [false, true, true]), { answer: "A", through: 2 });
    assert.equal(run(["C", "D", "C"], [false, true, true]), null);
    // Nobody led in turn 1: it was no hold-out then.
    assert.equal(run(["C", "C", "C"], [false, false, true]), null);
  });

  it("UN8: a seat that invents new arguments is heard for three turns of a standing agreement, not longer", () => {
    for (const n of [4, 7, 10, 13]) {
      const inventive = (round: number, seat: number): TurnActs =>
        seat < faultsOf(n) ? { answer: "no", proof: `${seat} argument ${round}` } : { answer: "yes" };
      assert.equal(decide(attemptOf(n), 2, inventive), null);
      const outcome = decide(attemptOf(n), 3, inventive);
      assertFields(outcome, { answer: "yes", status: "decided", through: 2 });
      // UN9: not 1, because some hold out.
      assert.equal(outcome?.confidence, Math.floor(((n - faultsOf(n)) * 1_000_000) / n));
    }
  });

  it("UN8: hold-outs that take turns in dissenting gain nothing", () => {
    const outcome = decide(attemptOf(7), 3, (round, seat) => ({ answer: seat === round % 2 ? "no" : "yes" }));
    assertFields(outcome, { answer: "yes", through: 2 });
  });

  it("UN8: an agreement that fell apart starts anew", () => {
    const act = (round: number, seat: number): TurnActs => ({
      answer: seat === 0 || (round === 1 && seat < 4) ? "no" : "yes",
    });
    assert.equal(decide(attemptOf(7), 3, act), null);
    assertFields(decide(attemptOf(7), 4, act), { status: "hung", through: 3 });
  });

  it("D09, D22, UN10: without agreement in turn T the attempt is Hung, for the configured T", () => {
    const split = (_: number, seat: number): TurnActs => ({ answer: seat < 2 ? "no" : "yes" });
    for (const turns of [1, 3, 10]) {
      const protocol = createUnanimous({ promptRatio: 750_000 as Ppm, turns });
      assert.equal(decide(attemptOf(4), turns, split, protocol), null);
      const outcome = decide(attemptOf(4), turns + 1, split, protocol);
      assertFields(outcome, { status: "hung", answer: "", confidence: 0, through: turns });
    }
  });

  it("D22: with too few participants the attempt is Hung, and the few do not decide", () => {
    const outcome = decide(attemptOf(7), 4, (_, seat) => (seat < 4 ? { answer: "yes" } : {}));
    assert.equal(outcome?.status, "hung");
  });

  it("D19: a void slot neither blocks nor counts; its seat is slashed, and no other", () => {
    for (const equivocates of [COMMIT, REVEAL]) {
      const outcome = decide(attemptOf(4), 1, (_, seat) =>
        seat === 0 ? { answer: "no", equivocates } : { answer: "yes" },
      );
      assertFields(outcome, { answer: "yes", confidence: 1_000_000 });
      assert.deepEqual(outcome?.reputationChanges, [{ seat: 0, steps: -1 }]);
      assert.equal(outcome?.shares[0], 0);
    }
    // A hold-out that equivocates later is excluded at once.
    const late = decide(attemptOf(4), 1, (_, seat) =>
      seat === 0 ? { answer: "no", equivocates: CLOSE } : { answer: "yes" },
    );
    assertFields(late, { answer: "yes", confidence: 750_000 });
  });

  it("UN9: a seat that equivocates after an agreement cannot take it back", () => {
    const outcome = decide(attemptOf(4), 1, (_, seat) =>
      seat === 0 ? { answer: "yes", equivocates: CLOSE } : seat === 1 ? {} : { answer: "yes" },
    );
    assert.equal(outcome?.answer, "yes");
  });

  it("property: whatever f Byzantine seats say, a decided answer is one that an honest seat gave in that turn", () => {
    const answers = fc.constantFrom(undefined, "A", "B", "C");
    const turn = (n: number) =>
      fc.array(fc.record({ answer: answers, proof: fc.constantFrom("p", "q", "") }), { minLength: n, maxLength: n });
    fc.assert(
      fc.property(
        fc
          .constantFrom(4, 7, 10)
          .chain((n) => fc.tuple(fc.constant(n), fc.array(turn(n), { minLength: 4, maxLength: 4 }))),
        fc.constantFrom("A", "B"),
        ([n, turns], leaning) => {
          // Honest seats lean to an answer, so that decisions happen.
          const acts = turns.map((one, round) =>
            one.map(({ answer, proof }, seat): TurnActs => {
              const said = seat >= faultsOf(n) && (seat + round) % 4 !== 0 ? leaning : answer;
              return { proof, ...(said === undefined ? {} : { answer: said }) };
            }),
          );
          const outcome = concluded(unanimous, attemptOf(n, { kind: "choice", options: 3 }), acts);
          assert.notEqual(outcome, null);
          if (outcome?.status !== "decided") return;
          const saying = acts[outcome.through]!.filter((act) => act.answer === outcome.answer);
          assertAbove(saying.length * 3, 2 * n);
          assert.equal(
            saying.some((act) => acts[outcome.through]!.indexOf(act) >= faultsOf(n)),
            true,
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  it("D30, property: the conclusion does not depend on the order of the messages", () => {
    const attempt = attemptOf(4);
    const tally = turnsOf(
      attempt,
      [0, 1, 4].map((odd) => seats(4, (seat) => ({ answer: seat === odd ? "no" : "yes", proof: "same" }))),
    );
    const messages = [...messagesOf(tally)];
    const expected = unanimous.conclude(
      attempt,
      messages.reduce((held, one) => addMessage(held, one).tally, emptyTally),
    );
    assert.equal(expected.kind, "final");
    fc.assert(
      fc.property(fc.shuffledSubarray(messages, { minLength: messages.length }), (shuffled) => {
        const held = shuffled.reduce((before, one) => addMessage(before, one).tally, emptyTally);
        assert.deepEqual(unanimous.conclude(attempt, held), expected);
      }),
      { numRuns: 25 },
    );
  });
});
