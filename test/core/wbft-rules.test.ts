import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { commitForm, revealForm } from "../../agents/core/phases/proposals.ts";
import { wbft } from "../../agents/core/protocols/wbft/index.ts";
import {
  FINAL,
  LEAD,
  PREPARE,
  SCORE,
  finalForm,
  leadForm,
  prepareForm,
  scoresForm,
} from "../../agents/core/protocols/wbft/payloads.ts";
import { permits, viewsOf, type ClassLock } from "../../agents/core/protocols/wbft/views.ts";
import { capped, isQuorum, sumOf, type WeighedClass } from "../../agents/core/protocols/wbft/weights.ts";
import { CLOSE, closeForm } from "../../agents/core/phases/round-book.ts";
import type { Marks } from "../../agents/core/phases/scores.ts";
import { emptyTally, type Tally } from "../../agents/core/seat/tally.ts";
import type { Attempt, Digest, Outcome, SeatIndex, Value } from "../../agents/core/types.ts";
import { attemptOf } from "../support/core/committee.ts";
import { addFormRound, proposalBody, type SaidSoFar } from "../support/core/form-rounds.ts";
import { put } from "../support/core/mbft-set.ts";
import { assertAtMost, assertBelow, assertFields, assertWithin } from "../support/assertions.ts";

const VIEW = [leadForm, prepareForm, finalForm, closeForm];
const FORMS = [commitForm, revealForm, scoresForm, ...VIEW];
const attemptFor = (
  n: number,
  terms: Parameters<typeof attemptOf>[1] = {},
  reputations: readonly number[] = [],
): Attempt => attemptOf(n, { protocol: 3, ...terms }, reputations);
const flat = (total: number): Marks =>
  [0, 1, 2, 3, 4].map((index) => Math.floor(total / 5) + (index < total % 5 ? 1 : 0));

interface ViewActs {
  /** Whose answer the leader proposes; null = nothing, undefined = it is silent. */
  readonly lead: number | null | undefined;
  /** Whose answer a seat votes for; null = none. */
  readonly prepare: (seat: number) => number | null;
  readonly final: (seat: number) => number | null;
}

interface Acts {
  readonly answers: readonly (string | null)[];
  /** Total that a seat gives an answer; null = absent. */
  readonly scores?: (seat: number, answer: string) => number | null;
  /** Seats that mark each answer a second time, by its last reveal. */
  readonly twice?: readonly number[];
  readonly views: readonly ViewActs[];
}

/** All seats name the first reveal of each answer when they score. */
function build(attempt: Attempt, { answers, scores = () => 92, twice = [], views }: Acts): Tally {
  let tally: Tally = emptyTally;
  const reveals = new Map<number, Digest>();
  views.forEach((acts, view) => {
    // Nobody goes on from a view that decides.
    if (view > 0 && concluded(attempt, tally) !== null) return;
    const leader = canonicalOrder(attempt)[view];
    const choice = (seat: number | null): { target: Digest | null } => ({
      target: seat === null ? null : (reveals.get(seat) ?? null),
    });
    const body = (phase: number, seat: number, said: SaidSoFar): unknown => {
      const reveal = said(revealForm.phase, seat);
      switch (phase) {
        case commitForm.phase:
        case revealForm.phase:
          return proposalBody(attempt, view, phase, seat, answers[seat] ?? null);
        case SCORE: {
          if (reveal !== null) answers.forEach((_, of) => reveals.set(of, said(revealForm.phase, of) as Digest));
          const firsts = answers.flatMap((text, of) => (text !== null && answers.indexOf(text) === of ? [of] : []));
          const lasts = firsts.map((of) => answers.lastIndexOf(answers[of] as string));
          return {
            scores: [...firsts, ...(twice.includes(seat) ? lasts : [])].map((of) => {
              const total = scores(seat, answers[of] as string);
              return { target: reveals.get(of) as Digest, marks: total === null ? null : flat(total) };
            }),
          };
        }
        case LEAD:
          return seat !== leader || acts.lead === undefined ? undefined : choice(acts.lead);
        case PREPARE:
          return choice(acts.prepare(seat));
        case FINAL:
          return choice(acts.final(seat));
        default:
          return {};
      }
    };
    tally = addFormRound(tally, attempt, view, view === 0 ? FORMS : VIEW, { body, partial: [LEAD] });
  });
  return tally;
}

function concluded(attempt: Attempt, tally: Tally): Outcome | null {
  const conclusion = wbft.conclude(attempt, tally);
  return conclusion.kind === "final" ? conclusion.outcome : null;
}

/** The given views, then lost ones up to the bound. */
function outcomeOf(attempt: Attempt, acts: Acts): Outcome | null {
  const rest = Array.from({ length: viewsOf(attempt) - acts.views.length }, () => lost);
  return concluded(attempt, build(attempt, { ...acts, views: [...acts.views, ...rest] }));
}
const all = (of: number | null) => (): number | null => of;
const upTo =
  (count: number, of: number) =>
  (seat: number): number | null =>
    seat < count ? of : null;
const lost: ViewActs = { lead: null, prepare: all(null), final: all(null) };
const yeses = (n: number): string[] => Array.from({ length: n }, () => "yes");

describe("wbft weights", () => {
  it("WB6: two marks of one seat for one answer, by different reveals of it, cancel", () => {
    const attempt = attemptFor(4);
    const views = [{ lead: 0, prepare: all(0), final: upTo(3, 0) }];
    const confidence = (acts: Partial<Acts>): unknown =>
      outcomeOf(attempt, { answers: yeses(4), views, ...acts })?.confidence;
    const silent = confidence({ scores: (seat) => (seat === 1 || seat === 2 ? null : 50) });
    assert.equal(confidence({ scores: () => 50, twice: [1, 2] }), silent);
    assert.notEqual(confidence({ scores: () => 50 }), silent);
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
    const confidence = (scores: Acts["scores"]): number => {
      const outcome = outcomeOf(attempt, { answers, ...(scores && { scores }), views });
      return outcome?.confidence ?? 0;
    };
    // 5 (0.6 + 0.4 * 0.9) of 5 * 0.96 + 2 (0.6 + 0.4 * 0.1): 4.8 of 6.08.
    const expected = Math.floor((4.8 * 1_000_000) / 6.08);
    assert.equal(
      confidence((_, answer) => honest(answer)),
      expected,
    );
    assert.equal(
      confidence((seat, answer) => (liars.includes(seat) ? 100 - honest(answer) : honest(answer))),
      expected,
    );
    assert.equal(
      confidence((seat, answer) => (liars.includes(seat) ? null : honest(answer))),
      expected,
    );
  });

  it("WB6: the lower median; with most of the others silent it is 0", () => {
    const attempt = attemptFor(4, {}, [500_000, 1_000_000, 1_000_000, 1_000_000]);
    const views = [{ lead: 0, prepare: all(0), final: upTo(3, 0) }];
    const confidence = (scores: NonNullable<Acts["scores"]>): number =>
      outcomeOf(attempt, { answers: yeses(4), scores, views })?.confidence ?? 0;
    // Seat 0 weighs 0.3 + 0.4 q, the others 0.6 + 0.4 q; the last is missing from the final votes.
    const share = (q: readonly number[]): number => {
      const weights = q.map((quality, seat) => (seat === 0 ? 3_000_000 : 6_000_000) + 40_000 * quality);
      return Math.floor((sumOf(weights.slice(0, 3)) * 1_000_000) / sumOf(weights));
    };
    assert.equal(
      confidence(() => 100),
      share([100, 100, 100, 100]),
    );
    assert.equal(
      confidence((seat) => seat * 10),
      share([20, 20, 10, 10]),
    );
    assert.equal(
      confidence((seat) => (seat < 2 ? null : 60)),
      share([60, 60, 0, 0]),
    );
  });
});

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

  it("WB17: shares: members and voters 2, others who took part 1; equivocators are slashed once per view and get nothing", () => {
    const attempt = attemptFor(7);
    const answers = ["yes", "yes", "yes", "yes", "no", "no", null];
    const vote = (seat: number): number | null => (seat === 5 ? null : 0);
    const tally = build(attempt, { answers, views: [{ lead: 0, prepare: vote, final: vote }] });
    assert.deepEqual(concluded(attempt, tally)?.shares, [2, 2, 2, 2, 2, 1, 0]);
    const forked = put(tally, attempt, 0, 3, CLOSE, { seen: [attempt.committee.map(() => null)] });
    assert.deepEqual(concluded(attempt, forked)?.shares, [2, 2, 2, 0, 2, 1, 0]);
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
