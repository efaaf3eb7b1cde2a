import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { wbft } from "../../agents/core/protocols/wbft/index.ts";
import { LEAD, SCORE, prepareForm } from "../../agents/core/protocols/wbft/payloads.ts";
import { permits, viewsOf, type ClassLock } from "../../agents/core/protocols/wbft/views.ts";
import { isQuorum, type WeighedClass } from "../../agents/core/protocols/wbft/weights.ts";
import { CLOSE } from "../../agents/core/phases/round-book.ts";
import type { Digest, SeatIndex, Value } from "../../agents/core/types.ts";
import { put } from "../support/core/mbft-set.ts";
import { assertFields } from "../support/assertions.ts";
import {
  attemptFor,
  type ViewActs,
  build,
  concluded,
  outcomeOf,
  all,
  upTo,
  lost,
  yeses,
} from "../support/core/wbft-acts.ts";

describe("wbft rules", () => {
  it("WB3 WB12: leaders take turns in canonical order; 2f + 2 views, twelve at most", () => {
    assert.deepEqual(
      [4, 7, 10, 13, 16, 34, 64].map((n) => viewsOf(attemptFor(n))),
      [4, 6, 8, 10, 12, 12, 12],
    );
    const attempt = attemptFor(7);
    const order = canonicalOrder(attempt);
    const lead = { target: null };
    for (let view = 0; view < 6; view++)
      for (const seat of order) {
        const refusal = wbft.rejectPayload(attempt, { round: view, phase: LEAD, seat }, lead);
        assert.equal(refusal, seat === order[view] ? null : "not-a-speaker");
      }
    assert.equal(
      wbft.rejectPayload(attempt, { round: 6, phase: LEAD, seat: order[6] as SeatIndex }, lead),
      "no-such-round",
    );
    assert.equal(
      wbft.rejectPayload(attempt, { round: 1, phase: SCORE, seat: order[0] as SeatIndex }, { scores: [] }),
      "unknown-phase",
    );
  });

  it("WB2: malformed choices are rejected", () => {
    const attempt = attemptFor(4);
    const form = prepareForm;
    assert.deepEqual(form.decode(attempt, form.encode({ target: null })), { target: null });
    for (const bad of [
      {},
      { target: 1 },
      { target: new Uint8Array(31) },
      { target: null, more: 1 },
      null,
    ] as readonly Value[])
      assert.equal(form.decode(attempt, bad), null);
  });

  it("WB9: three of four equal weights are a quorum, two are not, in PREPARE and in FINAL", () => {
    const attempt = attemptFor(4);
    const decided = (prepared: number, finalists: number): string | undefined =>
      outcomeOf(attempt, {
        answers: yeses(4),
        views: [{ lead: 0, prepare: upTo(prepared, 0), final: upTo(finalists, 0) }],
      })?.status;
    assert.equal(decided(3, 3), "decided");
    assert.equal(decided(2, 3), "hung");
    assert.equal(decided(3, 2), "hung");
  });

  it("WB9: more than 2/3 of the weight by few seats is not enough: more than 1/2 of the seats, 2/3 at high assurance", () => {
    const reputations = [1_000_000, 1_000_000, 1_000_000, 1_000_000, 300_000, 300_000, 300_000, 300_000, 300_000];
    const status = (assurance: "normal" | "high", seats: number): string | undefined =>
      outcomeOf(attemptFor(9, { assurance }, reputations), {
        answers: yeses(9),
        scores: () => 0,
        views: [{ lead: 0, prepare: upTo(seats, 0), final: upTo(seats, 0) }],
      })?.status;
    assert.equal(status("normal", 6), "decided");
    assert.equal(status("high", 6), "hung");
    assert.equal(status("high", 7), "decided");
    const weights = [9, 9, 9, 9, 1, 1, 1, 1, 1];
    const attempt = attemptFor(9);
    assert.equal(isQuorum(attempt, weights, [0, 1, 2, 3] as SeatIndex[]), false);
    assert.equal(isQuorum(attempt, weights, [0, 1, 2, 3, 4] as SeatIndex[]), true);
  });

  it("WB10: votes for another answer than the leader's proposal, or without a proposal, count for nothing", () => {
    const attempt = attemptFor(4);
    const answers = ["yes", "no", "yes", "yes"];
    const votes = (lead: number | null | undefined): ViewActs => ({ lead, prepare: all(0), final: all(0) });
    const status = (lead: number | null | undefined): string | undefined =>
      outcomeOf(attempt, { answers, views: [votes(lead)] })?.status;
    assert.equal(status(0), "decided");
    assert.deepEqual([1, 2, null, undefined].map(status), ["hung", "hung", "hung", "hung"]);
  });

  it("WB13: by example: a lock binds until there is a prepare certificate of a later view", () => {
    const classOf = (outcome: string): WeighedClass => ({
      answer: { text: outcome, outcome: outcome as Digest },
      members: [],
    });
    const lock = (outcome: string, view: number): ClassLock => ({ outcome: outcome as Digest, view });
    assert.equal(permits(null, null, classOf("a")), true);
    assert.equal(permits(lock("a", 1), null, classOf("a")), true);
    assert.equal(permits(lock("a", 1), null, classOf("b")), false);
    assert.equal(permits(lock("a", 1), lock("b", 1), classOf("b")), false);
    assert.equal(permits(lock("a", 1), lock("b", 2), classOf("b")), true);
    assert.equal(permits(lock("a", 1), lock("a", 2), classOf("b")), false);
  });

  it("WB13 WB14: a locked seat's vote for another class counts only with a later certificate", () => {
    const attempt = attemptFor(4);
    const answers = ["yes", "no", "yes", "no"];
    // View 0: "yes" is certified, but only two make it final; they are locked on it.
    const first: ViewActs = { lead: 0, prepare: upTo(3, 0), final: upTo(2, 0) };
    const second = (prepare: ViewActs["prepare"]): ViewActs => ({ lead: 1, prepare, final: all(1) });
    const status = (prepare: ViewActs["prepare"]): string | undefined =>
      outcomeOf(attempt, { answers, views: [first, second(prepare)] })?.answer;
    assert.equal(status(all(1)), "");
    // Nobody was locked: the same votes decide.
    assert.equal(
      outcomeOf(attempt, { answers, views: [{ ...first, final: all(null) }, second(all(1))] })?.answer,
      "no",
    );
    // The class they are locked on may be made final later.
    assert.equal(
      outcomeOf(attempt, { answers, views: [first, { lead: 2, prepare: all(2), final: all(2) }] })?.answer,
      "yes",
    );
    // One locked seat and three others certify "no" in view 1; in view 2 that certificate frees the locked one.
    const one: ViewActs = { ...first, final: upTo(1, 0) };
    const certified: ViewActs = { lead: 1, prepare: (seat) => (seat === 0 ? null : 1), final: all(null) };
    const freed: ViewActs = {
      lead: 1,
      prepare: (seat) => (seat === 3 ? null : 1),
      final: (seat) => (seat === 3 ? null : 1),
    };
    assert.equal(outcomeOf(attempt, { answers, views: [one, certified, freed] })?.answer, "no");
    assert.equal(outcomeOf(attempt, { answers, views: [one, lost, freed] })?.answer, "");
  });

  it("WB13 by property: once more than 1/3 of the weight is honestly locked, no other class is ever certified", () => {
    const n = 7;
    const attempt = attemptFor(n);
    const answers = ["yes", "yes", "yes", "no", "no", "no", "no"];
    const votes = fc.array(fc.constantFrom(null, 3), { minLength: n, maxLength: n });
    fc.assert(
      fc.property(votes, votes, votes, (one, two, three) => {
        // Seats 0, 1, 2 are locked in view 0, all others vote as they like, and say they saw a certificate.
        const first: ViewActs = { lead: 0, prepare: upTo(5, 0), final: upTo(3, 0) };
        const others = [one, two, three].map((row): ViewActs => ({
          lead: 3,
          prepare: (seat) => row[seat] ?? null,
          final: all(3),
        }));
        assert.equal(outcomeOf(attempt, { answers, views: [first, ...others] })?.status, "hung");
      }),
      { numRuns: 60 },
    );
  });

  it("WB15: the first view that can decide decides; an incomplete view leaves the set open", () => {
    const attempt = attemptFor(4);
    const decides: ViewActs = { lead: 0, prepare: all(0), final: all(0) };
    const tally = build(attempt, { answers: yeses(4), views: [lost] });
    assert.equal(wbft.conclude(attempt, tally).kind, "open");
    const conclusion = wbft.conclude(attempt, build(attempt, { answers: yeses(4), views: [lost, decides] }));
    assertFields(conclusion, { kind: "final", through: { round: 1, phase: CLOSE } });
    assertFields(outcomeOf(attempt, { answers: yeses(4), views: [lost] }), {
      status: "hung",
      answer: "",
    });
  });

  it("WB17: members earn, voters do not; equivocators are slashed once per view and get nothing", () => {
    const attempt = attemptFor(7);
    const answers = ["yes", "yes", "yes", "yes", "no", "no", null];
    const vote = (seat: number): number | null => (seat === 5 ? null : 0);
    const tally = build(attempt, { answers, views: [{ lead: 0, prepare: vote, final: vote }] });
    assert.deepEqual(concluded(attempt, tally)?.shares, [SURE_RIGHT, SURE_RIGHT, SURE_RIGHT, SURE_RIGHT, 0, 0, 0]);
    const forked = put(tally, attempt, 0, 3, CLOSE, { seen: [attempt.committee.map(() => null)] });
    assert.deepEqual(concluded(attempt, forked)?.shares, [SURE_RIGHT, SURE_RIGHT, SURE_RIGHT, 0, 0, 0, 0]);
    assert.deepEqual(concluded(attempt, forked)?.reputationChanges, [{ seat: 3, steps: -1 }]);
  });

  it("with f hostile seats no wrong class is decided, whatever they say and whatever the order of leaders", () => {
    const scenario = fc.constantFrom(4, 7, 10).chain((n) => {
      const f = Math.floor((n - 1) / 3);
      const row = fc.array(fc.constantFrom("lie", "truth", "none"), { minLength: n, maxLength: n });
      return fc.record({
        n: fc.constant(n),
        hostile: fc.shuffledSubarray(
          Array.from({ length: n }, (_, seat) => seat),
          { minLength: f, maxLength: f },
        ),
        marks: fc.integer({ min: 0, max: 100 }),
        reputations: fc.array(fc.integer({ min: 1, max: 1_000_000 }), { minLength: n, maxLength: n }),
        rows: fc.array(row, { minLength: 4 * (f + 1), maxLength: 4 * (f + 1) }),
      });
    });
    fc.assert(
      fc.property(scenario, ({ n, hostile, marks, reputations, rows }) => {
        const attempt = attemptFor(n, {}, reputations);
        const order = canonicalOrder(attempt);
        const isHostile = (seat: number): boolean => hostile.includes(seat);
        const answers = attempt.committee.map((_, seat) => (isHostile(seat) ? "no" : "yes"));
        const [lie, truth] = [answers.indexOf("no"), answers.indexOf("yes")];
        const views = Array.from({ length: viewsOf(attempt) }, (_, view): ViewActs => {
          const leader = order[view] as number;
          const said = (row: readonly string[] | undefined, seat: number): number | null =>
            row?.[seat] === "lie" ? lie : row?.[seat] === "truth" ? truth : null;
          const lead = isHostile(leader) ? said(rows[2 * view], leader) : truth;
          const honest = lead === truth ? truth : null;
          return {
            lead,
            prepare: (seat) => (isHostile(seat) ? said(rows[2 * view], seat) : honest),
            final: (seat) => (isHostile(seat) ? said(rows[2 * view + 1], seat) : honest),
          };
        });
        const scores = (seat: number, answer: string): number => (isHostile(seat) ? marks : answer === "yes" ? 92 : 30);
        const outcome = outcomeOf(attempt, { answers, scores, views });
        assertFields(outcome, { status: "decided", answer: "yes" });
      }),
      { numRuns: 80 },
    );
  });
});
