import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import type { CanonicalAnswer } from "../../agents/core/request/kinds.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { CRITIQUE } from "../../agents/core/protocols/debate/critiques.ts";
import { initialCarry, assessEscalatingRound } from "../../agents/core/protocols/escalating/assess.ts";
import { escalating } from "../../agents/core/protocols/escalating/index.ts";
import { acceptedOf, isContested, isTrivial, type Agreement } from "../../agents/core/protocols/escalating/rules.ts";
import { formsOf } from "../../agents/core/protocols/escalating/levels.ts";
import type { PayloadMap } from "../../agents/core/protocol.ts";
import { decisionConfidence } from "../../agents/core/phases/backing.ts";
import { SAFE_RIGHT, SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { CLOSE } from "../../agents/core/phases/round-book.ts";
import { roundSlots, type Tally } from "../../agents/core/seat/tally.ts";
import type { Attempt, SeatIndex, Terms } from "../../agents/core/types.ts";
import { attemptOf, signMessage, type SeatScript } from "../support/core/committee.ts";
import {
  believing,
  byRank,
  decisionOf,
  equivocatingIn,
  failingAt,
  fieldOf,
  messagesIn,
  retold,
  taskOf,
  watched,
} from "../support/core/council-scripts.ts";
import { assertAbove, assertFields, assertIncludes, assertIncludesAll } from "../support/assertions.ts";

const of = (n: number, terms: Partial<Terms> = {}): Attempt => attemptOf(n, { protocol: 10, ...terms });
const letters = { kind: "choice", options: 8 } as const;
/** The confidence of a decision that so many seats gave at first, and were sure of. */
const backedBy = (seats: number, n: number) =>
  decisionConfidence(Array.from({ length: n }, (_, seat) => (seat < seats ? SURE_RIGHT : 0)));
const tasks = (run: ReturnType<typeof watched>): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { prompt } of run.asked) counts[taskOf(prompt)] = (counts[taskOf(prompt)] ?? 0) + 1;
  return counts;
};

/** Proposes one answer at first, another when it replies or proposes again; then judges by the second. */
function turning(first: string, last: string): SeatScript {
  let isFirst = true;
  return {
    answer: (ask) => {
      const task = taskOf(ask.prompt);
      if (task === "propose" && isFirst) {
        isFirst = false;
        return believing(first).answer(ask);
      }
      return task === "adjudicate"
        ? { fields: { check: "c", verdict: fieldOf(ask.prompt, "answer") === last ? "refute" : "uphold" } }
        : believing(last).answer(ask);
    },
  };
}

/** Proposes once; then its model fails to, and does all else. */
function falling(script: SeatScript): SeatScript {
  let isFirst = true;
  return {
    answer: (ask) => {
      const isOver = taskOf(ask.prompt) === "propose" && !isFirst;
      isFirst &&= taskOf(ask.prompt) !== "propose";
      const answered = script.answer(ask);
      return isOver ? null : answered;
    },
  };
}

function unsure(script: SeatScript): SeatScript {
  return {
    answer: (ask) => {
      const answered = script.answer(ask);
      return answered && { ...answered, confidence: 100_000 };
    },
  };
}

function agreement(most: number, answered: number): Agreement {
  const seats = Array.from({ length: most }, (_, seat) => seat as SeatIndex);
  return { best: { representative: {} as CanonicalAnswer, seats }, answered };
}

describe("escalating: thresholds", () => {
  it("T22, ES5: 70 % and 95 % of those who answered, and more than 2/3 of all seats, at their exact bounds", () => {
    const accepts = (n: number, most: number, answered: number, terms: Partial<Terms> = {}) =>
      acceptedOf(of(n, terms), agreement(most, answered)) !== null;
    assert.deepEqual([accepts(10, 7, 10), accepts(13, 9, 13), accepts(13, 10, 13)], [true, false, true]);
    // 7 of 10 is 70 % and more than 2/3; 6 of 8 is 75 % of the answers, but no 2/3 of ten seats.
    assert.deepEqual([accepts(10, 6, 8), accepts(10, 7, 8)], [false, true]);
    const high = { assurance: "high" } as const;
    assert.deepEqual(
      [accepts(17, 16, 17, high), accepts(20, 19, 20, high), accepts(4, 3, 4, high), accepts(4, 3, 3, high)],
      [false, true, false, true],
    );
    assert.equal(acceptedOf(of(4), { best: null, answered: 0 }), null);
  });

  it("T21, ES6: contested below 50 % of those who answered, and only when something is at stake", () => {
    const acted = { callbackGasLimit: 1 };
    assert.deepEqual(
      [3, 4, 5].map((most) => isContested(of(10, acted), agreement(most, 9))),
      [true, true, false],
    );
    assert.equal(isContested(of(10, acted), agreement(5, 10)), false);
    assert.equal(isContested(of(10, acted), { best: null, answered: 0 }), false);
    assert.equal(isContested(of(10), agreement(1, 10)), false);
    assert.deepEqual([isTrivial(of(4).request.terms), isTrivial(of(4, acted).request.terms)], [true, false]);
    assert.equal(isTrivial(of(4, { assurance: "high" }).request.terms), false);
  });

  it("ES5: more honest seats stand behind an accepted answer than there can be faulty ones", () => {
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 26 }), fc.nat(), fc.nat(), fc.boolean(), (n, some, more, high) => {
        const most = some % (n + 1);
        const answered = most + (more % (n + 1 - most));
        const attempt = of(n, { assurance: high ? "high" : "normal" });
        if (acceptedOf(attempt, agreement(most, answered)) !== null)
          assertAbove(most - Math.floor((n - 1) / 3), Math.floor((n - 1) / 3));
      }),
    );
  });
});

describe("escalating over a committee", () => {
  for (const n of [4, 7, 10, 13]) {
    const f = Math.floor((n - 1) / 3);

    it(`ES3, T22: n = ${n}: agreement ends at the council: n calls, 4n messages`, () => {
      const run = watched(escalating, of(n, { callbackGasLimit: 1 }), byRank(of(n), believing("yes"), {}));
      assertFields(decisionOf(run), { status: "decided", answer: "yes", confidence: backedBy(n, n) });
      assert.deepEqual(tasks(run), { propose: n });
      assert.equal(messagesIn(run), 4 * n);
    });

    it(`ES5, T28: n = ${n}: f liars, crashed seats or equivocators neither stall nor win`, () => {
      const liar = believing("no");
      const split = equivocatingIn(believing("yes"), 1, { commitment: new Uint8Array(32) });
      for (const faulty of n > 7
        ? [n > 10 ? liar : split]
        : [liar, split, { ...believing("yes"), crashed: true }, failingAt(liar, "propose")]) {
        const ranks = Object.fromEntries(Array.from({ length: f }, (_, rank) => [rank, faulty]));
        const decision = decisionOf(watched(escalating, of(n), byRank(of(n), believing("yes"), ranks)));
        assertFields(decision, { status: "decided", answer: "yes" });
        const blamed = decision.reputationChanges.filter(({ steps }) => steps < 0).map(({ seat }) => seat);
        assertIncludesAll(canonicalOrder(of(n)).slice(0, f), blamed);
      }
    });
  }

  it("T21, T22, ES7: a contested question is debated, and accepted when the replies agree: 3n calls", () => {
    const attempt = of(7, { ...letters, callbackGasLimit: 1 });
    // One holds another view, and nobody is sure of anything: mbft could not commit this.
    const scripts = attempt.committee.map((_, seat) => unsure(turning("ABCDEFG".charAt(seat), seat === 6 ? "G" : "B")));
    const run = watched(escalating, attempt, scripts);
    // What a debate made of it is no backing: one answered B by itself, and was not sure.
    assertFields(decisionOf(run), { answer: "B", confidence: decisionConfidence([SAFE_RIGHT, 0, 0, 0, 0, 0, 0]) });
    assert.deepEqual(tasks(run), { propose: 7, critique: 7, revise: 7 });
    const replies = run.asked.filter(({ prompt }) => taskOf(prompt) === "revise");
    for (const { seat, prompt } of replies) {
      assert.equal(fieldOf(prompt, "answer"), "ABCDEFG".charAt(seat));
      assert.match(String(fieldOf(prompt, "counterProof")), /^so [BG]$/);
    }
  });

  it("T21, ES6: with trivial stakes the same question goes to mbft without a debate", () => {
    const attempt = of(7, letters);
    const scripts = attempt.committee.map((_, seat) => turning("ABCDEFG".charAt(seat), "B"));
    const run = watched(escalating, attempt, scripts);
    assert.equal(decisionOf(run).answer, "B");
    assertFields(tasks(run), { propose: 14, critique: undefined, revise: undefined });
  });

  it("T22, ES8: a debate that does not converge is decided by mbft, on the debate's last answers", () => {
    const attempt = of(7, { ...letters, callbackGasLimit: 1 });
    const scripts = attempt.committee.map((_, seat) => turning("ABCDEFG".charAt(seat), seat < 4 ? "B" : "C"));
    // Verifiers follow the majority of the debate.
    const verifying = scripts.map((script): SeatScript => ({
      answer: (ask) =>
        taskOf(ask.prompt) === "verify"
          ? { fields: { check: "c", verdict: fieldOf(ask.prompt, "answer") === "B" ? "accept" : "abstain" } }
          : script.answer(ask),
    }));
    const run = watched(escalating, attempt, verifying);
    const decision = decisionOf(run);
    assertFields(decision, { status: "decided", answer: "B" });
    assert.deepEqual(tasks(run), { propose: 7, critique: 7, revise: 7, verify: 7 });
    assert.equal(decision.confidence, backedBy(1, 7));
  });

  it("T22: 60 % is too little for the council and too much to be contested: mbft asks anew", () => {
    const attempt = of(10, { callbackGasLimit: 1 });
    const ranks = Object.fromEntries([0, 1, 2, 3].map((rank) => [rank, turning("no", "yes")]));
    const run = watched(escalating, attempt, byRank(attempt, turning("yes", "yes"), ranks));
    assert.equal(decisionOf(run).answer, "yes");
    assert.deepEqual(tasks(run), { propose: 20 });
  });

  it("T22: high assurance goes on where normal assurance accepts", () => {
    for (const [assurance, calls] of [
      ["normal", 13],
      ["high", 26],
    ] as const) {
      const attempt = of(13, { assurance });
      const ranks = { 0: turning("no", "yes"), 1: turning("no", "yes") };
      const run = watched(escalating, attempt, byRank(attempt, turning("yes", "yes"), ranks));
      assert.equal(decisionOf(run).answer, "yes");
      assert.equal(run.asked.length, calls);
      if (assurance === "normal") assert.equal(decisionOf(run).confidence, backedBy(11, 13));
    }
  });

  it("ES8: two camps that hold end as Hung after the last mbft round", () => {
    const attempt = of(4);
    const camp = (answer: string): SeatScript => ({
      answer: (ask) =>
        taskOf(ask.prompt) === "verify"
          ? { fields: { check: "c", verdict: "abstain" } }
          : believing(answer).answer(ask),
    });
    const run = watched(escalating, attempt, byRank(attempt, camp("yes"), { 0: camp("no"), 1: camp("no") }));
    assertFields(decisionOf(run), { status: "hung", answer: "" });
  });

  it("ES4, texts: judged the same counts as the same answer", () => {
    const attempt = of(4, { kind: "text" });
    const agreeing = (text: string): SeatScript => ({
      answer: (ask) =>
        taskOf(ask.prompt) === "match" ? { fields: { check: "c", verdict: "same" } } : believing(text).answer(ask),
    });
    const run = watched(escalating, attempt, byRank(attempt, agreeing("Yes."), { 0: agreeing("It is so.") }));
    assertFields(decisionOf(run), { answer: "Yes.", confidence: backedBy(4, 4) });
    assert.deepEqual(tasks(run), { propose: 4, match: 4 });
  });

  for (const [terms, answer] of [
    [{ kind: "number", decimals: 1, tolerance: 5n }, "12.5"],
    [{ kind: "policies", options: 4 }, "A,C"],
  ] as const)
    it(`ES4: ${terms.kind}`, () => {
      const attempt = of(4, terms);
      const run = watched(
        escalating,
        attempt,
        byRank(attempt, believing(answer), { 0: believing(answer === "12.5" ? "13" : "B") }),
      );
      assertFields(decisionOf(run), { answer, confidence: backedBy(answer === "12.5" ? 4 : 3, 4) });
    });

  it("ES10: a seat that equivocates in the council is slashed, whichever level decides", () => {
    const attempt = of(7);
    const split = equivocatingIn(turning("yes", "yes"), CRITIQUE, { critiques: [[new Uint8Array(32), "x"]] });
    const camps = { 0: split, 1: turning("no", "yes"), 2: turning("no", "yes"), 3: turning("no", "yes") };
    const decision = decisionOf(watched(escalating, attempt, byRank(attempt, turning("yes", "yes"), camps)));
    assert.equal(decision.answer, "yes");
    assertIncludes(decision.reputationChanges, { seat: canonicalOrder(attempt)[0], steps: -1 });
  });

  it("ES8, ES10: a slash of the council lowers the reputation that mbft weighs with, once, and nobody else's", () => {
    const attempt = of(4);
    const { tally } = watched(escalating, attempt, byRank(attempt, believing("yes"), {})).states[0]!;
    const critiques = [[new Uint8Array(32), "x"]];
    const twice = (phases: readonly number[]) =>
      retold(tally, (message) =>
        message.header.seat === 2 && phases.includes(message.header.phase)
          ? [
              message,
              signMessage(attempt, 2, message.header.phase, 0, { ...(message.payload as PayloadMap), critiques }),
            ]
          : [message],
      );
    const plan = { forms: formsOf(attempt, 0), partial: new Set<number>() };
    const judged = (heard: Tally) =>
      assessEscalatingRound({ attempt, round: 0, plan, slots: roundSlots(heard, 0) }, initialCarry(attempt)).carry.mbft;
    const { reputations, slashes } = judged(tally);
    assert.deepEqual(
      [reputations, slashes],
      [
        [1_000_000, 1_000_000, 1_000_000, 1_000_000],
        [0, 0, 0, 0],
      ],
    );
    for (const phases of [[CRITIQUE], [CRITIQUE, CLOSE]]) {
      const slashed = judged(twice(phases));
      assert.deepEqual(slashed.slashes, [0, 0, 1, 0]);
      assert.deepEqual(slashed.reputations, [1_000_000, 1_000_000, 800_000, 1_000_000]);
    }
  });

  it("ES8, ES10: in an mbft round the author of a refuted counter-proof is slashed, on top of a slash of the council", () => {
    const attempt = of(7);
    const author = canonicalOrder(attempt)[6]!;
    // Holds on to its answer and rejects the others'; all of them refute that.
    const stubborn = believing("no");
    const split = equivocatingIn(stubborn, CRITIQUE, { critiques: [[new Uint8Array(32), "x"]] });
    const once: SeatScript = {
      ...split,
      say: (effect, to) => (effect.round === 0 ? split.say!(effect, to) : [effect]),
    };
    for (const [script, steps] of [
      [stubborn, -1],
      [once, -2],
    ] as const) {
      // Two have no answer any more in the mbft round, so that too few agree to be counted (MB20); they verify and judge.
      const others = { 0: falling(turning("no", "yes")), 1: falling(turning("no", "yes")), 2: turning("no", "yes") };
      const scripts = byRank(attempt, turning("yes", "yes"), { ...others, 6: script });
      const run = watched(escalating, attempt, scripts);
      const decision = decisionOf(run);
      assertFields(tasks(run), { propose: 14, verify: 9 });
      assertFields(decision, { status: "decided", answer: "yes" });
      assert.deepEqual(decision.reputationChanges, [{ seat: author, steps }]);
      assert.equal(decision.shares[author], 0);
    }
  });

  it("ES2: committees that cannot be lettered, and mbft's own limits, are refused", () => {
    assert.equal(escalating.refuseRequest(of(4)), null);
    assert.match(
      String(escalating.refuseRequest({ ...of(4), committee: Array.from({ length: 27 }, () => of(4).committee[0]!) })),
      /26 seats/,
    );
    assert.match(String(escalating.refuseRequest(attemptOf(3, { protocol: 10 }))), /outside 4/);
  });
});
