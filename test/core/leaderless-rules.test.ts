import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { MEDIAN_UNIT } from "../../agents/core/protocols/leaderless/geometric-median.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { type CanonicalAnswer } from "../../agents/core/request/kinds.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { commitForm, revealForm, type Candidate } from "../../agents/core/phases/proposals.ts";
import { leaderless } from "../../agents/core/protocols/leaderless/index.ts";
import { rolesOf, splitOf } from "../../agents/core/protocols/leaderless/roles.ts";
import {
  SCORE,
  answerBroadcast,
  bestOf,
  scoreBroadcast,
  tieBreak,
  type Rating,
} from "../../agents/core/protocols/leaderless/select.ts";
import { CLOSE, closeForm } from "../../agents/core/phases/round-book.ts";
import { CRITERIA, marksFrom, scoreForm, type Marks } from "../../agents/core/phases/scores.ts";
import { emptyTally, type Tally } from "../../agents/core/seat/tally.ts";
import type { Attempt, Digest, Outcome, Ppm, SeatIndex, Terms, Value } from "../../agents/core/types.ts";
import { attemptOf } from "../support/core/committee.ts";
import { addFormRound, proposalBody, type RoundScript, type SaidSoFar } from "../support/core/form-rounds.ts";
import { put } from "../support/core/mbft-set.ts";
import {
  assertAtLeast,
  assertAtMost,
  assertBelow,
  assertFields,
  assertIncludes,
  assertWithin,
} from "../support/assertions.ts";

const FORMS = [
  commitForm,
  revealForm,
  answerBroadcast.echo,
  answerBroadcast.ready,
  scoreBroadcast.sent,
  scoreBroadcast.echo,
  scoreBroadcast.ready,
  closeForm,
];
const attemptFor = (n: number, terms: Parameters<typeof attemptOf>[1] = {}): Attempt =>
  attemptOf(n, { protocol: 4, ...terms });
const flat = (total: number): Marks => CRITERIA.map((_, index) => Math.floor(total / 5) + (index < total % 5 ? 1 : 0));

interface Acts {
  /** The answer of a worker; null = its model failed, undefined = silent. */
  readonly answer?: (worker: SeatIndex, round: number) => string | null | undefined;
  /** Marks of an evaluator for a worker's answer; null = absent, undefined = it says nothing at all. */
  readonly marks?: (evaluator: SeatIndex, worker: SeatIndex, answer: string) => Marks | null | undefined;
  readonly sees?: RoundScript["sees"];
  /** What a seat vouches for instead of all that was said. */
  readonly ready?: (seat: number, phase: number, heard: readonly (Digest | null)[]) => readonly (Digest | null)[];
}

function addRound(tally: Tally, attempt: Attempt, round: number, acts: Acts): Tally {
  const { workers, evaluators } = rolesOf(attempt, round);
  const answerOf = (seat: SeatIndex): string | null | undefined => (acts.answer ?? (() => "yes"))(seat, round);
  const body = (phase: number, at: number, said: SaidSoFar): unknown => {
    const seat = at as SeatIndex;
    const heard = (of: number): (Digest | null)[] => attempt.committee.map((_, one) => said(of, one));
    switch (phase) {
      case commitForm.phase: {
        const answer = workers.includes(seat) ? answerOf(seat) : undefined;
        return answer === undefined ? undefined : proposalBody(attempt, round, phase, seat, answer);
      }
      case revealForm.phase:
        return proposalBody(attempt, round, phase, seat, (workers.includes(seat) ? answerOf(seat) : null) ?? null);
      case SCORE: {
        if (!evaluators.includes(seat)) return undefined;
        const given = workers.flatMap((worker) => {
          const answer = answerOf(worker);
          if (typeof answer !== "string") return [];
          const marks = (acts.marks ?? ((_, __, text) => flat(text === "yes" ? 92 : 30)))(seat, worker, answer);
          return [{ target: said(revealForm.phase, worker) as Digest, marks }];
        });
        return given.some(({ marks }) => marks === undefined) ? undefined : { scores: given };
      }
      case CLOSE:
        return {};
      default: {
        const of = phase < SCORE ? revealForm.phase : SCORE;
        const all = heard(of);
        return { heard: acts.ready?.(at, phase, all) ?? all };
      }
    }
  };
  const partial = [commitForm.phase, SCORE];
  return addFormRound(tally, attempt, round, FORMS, { body, partial, ...(acts.sees && { sees: acts.sees }) });
}

function concluded(attempt: Attempt, tally: Tally): Outcome | null {
  const conclusion = leaderless.conclude(attempt, tally);
  return conclusion.kind === "final" ? conclusion.outcome : null;
}

/** Two rounds, the second only where the first does not decide. */
function outcomeOf(attempt: Attempt, first: Acts, second: Acts = first): Outcome | null {
  const tally = addRound(emptyTally, attempt, 0, first);
  return concluded(attempt, tally) ?? concluded(attempt, addRound(tally, attempt, 1, second));
}

/** An answer that so many of three evaluators approved. */
function ratingOf(seat: number, text: string, score: number, approved = 2): Rating {
  const terms: Terms = { ...attemptFor(4).request.terms, kind: "text" };
  const answer = canonicalAnswer({ terms, question: "" }, text) as CanonicalAnswer;
  const candidate: Candidate = {
    seat: seat as SeatIndex,
    target: answer.outcome,
    answer,
    proof: "",
    tier: 900_000 as Ppm,
  };
  return { candidate, approvers: ([1, 2, 3] as SeatIndex[]).slice(0, approved), score };
}

describe("leaderless rules", () => {
  it("L02 LL2: for every n: f <= f_e, two thirds evaluate, workers fit a score sheet, and two rounds try more than f workers up to n = 48", () => {
    for (let n = 4; n <= 64; n++) {
      const f = Math.floor((n - 1) / 3);
      const { workers, evaluators, faultyEvaluators, faultyWorkers } = splitOf(n);
      assert.equal(workers + evaluators, n);
      assertWithin(workers, 1, 8);
      assertAtLeast(faultyEvaluators, f);
      assertBelow(2 * faultyEvaluators, evaluators);
      assertBelow(2 * faultyWorkers, workers);
      // One worker more would break the bound of the evaluators, or the sheet.
      assert.equal(workers === 8 || Math.floor((evaluators - 2) / 2) < f, true);
      assert.equal(2 * workers > f, n <= 48);
      assertAtMost(2 * workers, n);
    }
  });

  it("L01 LL3: roles are disjoint, cover all, follow the canonical order and not the list; the second round has other workers", () => {
    for (const n of [4, 7, 10, 13, 33, 64]) {
      const attempt = attemptFor(n);
      const order = canonicalOrder(attempt);
      const rounds = [0, 1].map((round) => rolesOf(attempt, round));
      for (const { workers, evaluators } of rounds)
        assert.deepEqual(
          [...workers, ...evaluators].toSorted((a, b) => a - b),
          attempt.committee.map((_, seat) => seat),
        );
      assert.deepEqual(rounds[0]?.evaluators, order.slice(0, splitOf(n).evaluators));
      assert.equal(
        rounds[0]?.workers.some((seat) => rounds[1]?.workers.includes(seat)),
        false,
      );
      const shuffled: Attempt = { ...attempt, committee: attempt.committee.toReversed() };
      const agents = (one: Attempt): unknown => rolesOf(one, 0).workers.map((seat) => one.committee[seat]?.agentId);
      assert.deepEqual(agents(shuffled), agents(attempt));
    }
  });

  it("L01 LL3: an evaluator's commitment and a worker's score sheet are rejected", () => {
    const attempt = attemptFor(7);
    const { workers, evaluators } = rolesOf(attempt, 0);
    const commit = { commitment: null };
    const sheet = { scores: [] };
    const refuses = (seat: number | undefined, phase: number, payload: Value, round = 0): unknown =>
      leaderless.rejectPayload(attempt, { round, phase, seat: seat as SeatIndex }, payload);
    assert.equal(refuses(workers[0], 1, commit), null);
    assert.equal(refuses(evaluators[0], 1, commit), "not-a-speaker");
    assert.equal(refuses(evaluators[0], SCORE, sheet), null);
    assert.equal(refuses(workers[0], SCORE, sheet), "not-a-speaker");
    assert.equal(refuses(evaluators[0], SCORE, { scores: [1] }), "malformed-payload");
    assert.equal(refuses(workers[0], 1, commit, 2), "no-such-round");
    assert.equal(refuses(workers[0], 50, commit), "unknown-phase");
  });

  it("L08: marks out of range, missing, fractional or oddly spelt are refused, not clamped", () => {
    const good = Object.fromEntries(CRITERIA.map((name) => [name, "20"]));
    assert.deepEqual(marksFrom(good), [20, 20, 20, 20, 20]);
    for (const bad of ["21", "-1", "", "05", "1.5", " 7", "1e1", "twenty"])
      assert.equal(marksFrom({ ...good, logic: bad }), null);
    const missing = Object.fromEntries(Object.entries(good).filter(([name]) => name !== "logic"));
    assert.equal(marksFrom(missing), null);
    const attempt = attemptFor(4);
    const form = scoreForm(SCORE);
    const target = new Uint8Array(32);
    const sheet = (marks: Value): Value => ({ scores: [{ target, marks }] });
    assert.deepEqual(form.decode(attempt, sheet([0, 20, 10, 1, 2]))?.scores[0]?.marks, [0, 20, 10, 1, 2]);
    assert.equal(form.decode(attempt, sheet(null))?.scores[0]?.marks, null);
    for (const marks of [
      [0, 21, 0, 0, 0],
      [0, -1, 0, 0, 0],
      [0, 0, 0, 0],
      [0, 0, 0, 0, 0, 0],
      ["1", 0, 0, 0, 0],
      {},
      3,
    ] as readonly Value[])
      assert.equal(form.decode(attempt, sheet(marks)), null);
    const twice = { target, marks: null };
    assert.equal(form.decode(attempt, { scores: [twice, twice] }), null);
    const many = Array.from({ length: 9 }, (_, index) => ({ target: new Uint8Array(32).fill(index), marks: null }));
    assert.equal(form.decode(attempt, { scores: many }), null);
    assert.notEqual(form.decode(attempt, { scores: many.slice(1) }), null);
  });

  it("L09 LL7: absent marks are left out of the median, and count as no approval", () => {
    const attempt = attemptFor(7);
    const { evaluators } = rolesOf(attempt, 0);
    const absent =
      (count: number): NonNullable<Acts["marks"]> =>
      (evaluator) =>
        evaluators.indexOf(evaluator) < count ? null : flat(95);
    assertFields(outcomeOf(attempt, { marks: absent(2) }), { status: "decided", confidence: 950_000 });
    assertFields(outcomeOf(attempt, { marks: absent(3) }), { status: "hung" });
    const silent: NonNullable<Acts["marks"]> = (evaluator) =>
      evaluators.indexOf(evaluator) < 2 ? undefined : flat(95);
    assertFields(outcomeOf(attempt, { marks: silent }), { status: "decided", confidence: 950_000 });
  });

  it("LL8: 60 marks approve, 59 do not; more than half of the evaluators must approve", () => {
    const attempt = attemptFor(13);
    const { evaluators } = rolesOf(attempt, 0);
    const approving =
      (count: number, total: number): NonNullable<Acts["marks"]> =>
      (evaluator) =>
        evaluators.slice(0, count).includes(evaluator) ? flat(total) : flat(59);
    assert.equal(evaluators.length, 9);
    assert.equal(outcomeOf(attempt, { marks: approving(5, 60) })?.status, "decided");
    assert.equal(outcomeOf(attempt, { marks: approving(4, 100) })?.status, "hung");
  });

  it("LL8: at high assurance more than 2/3 of the seats must have given or approved the answer", () => {
    const attempt = attemptFor(13, { assurance: "high" });
    const { evaluators, workers } = rolesOf(attempt, 0);
    const acts = (approvers: number, givers: number): Acts => ({
      answer: (worker) => (workers.indexOf(worker) < givers ? "yes" : "no"),
      marks: (evaluator, _, answer) => flat(answer === "yes" && evaluators.indexOf(evaluator) < approvers ? 92 : 30),
    });
    // 9 of 13 is more than two thirds, 8 is not.
    assert.equal(outcomeOf(attempt, acts(5, 4), { answer: () => null })?.status, "decided");
    assert.equal(outcomeOf(attempt, acts(5, 3), { answer: () => null })?.status, "hung");
    assert.equal(outcomeOf(attempt, acts(8, 1), { answer: () => null })?.status, "decided");
    assert.equal(outcomeOf(attempt, acts(7, 1), { answer: () => null })?.status, "hung");
    assert.equal(outcomeOf(attempt, acts(4, 4), { answer: () => null })?.status, "hung");
  });

  it("L14 LL12: the best score that may win wins; ties go by the largest hash of answer and attempt, not by seat", () => {
    const attempt = attemptFor(4);
    const [a, b] = [ratingOf(0, "one", 80_000), ratingOf(1, "two", 80_001)];
    assert.equal(bestOf(attempt, 3, [a, b]), b);
    assert.equal(bestOf(attempt, 3, [b, a]), b);
    assert.equal(bestOf(attempt, 3, [a, ratingOf(1, "two", 80_001, 1)]), a);
    assert.equal(bestOf(attempt, 3, []), null);
    const tied = ["x", "y", "z", "w"].map((text, seat) => ratingOf(seat, text, 80_000));
    const largest = tied
      .map(({ candidate }) => tieBreak(attempt, candidate))
      .toSorted()
      .at(-1);
    for (const order of [tied, tied.toReversed()])
      assert.equal(tieBreak(attempt, (bestOf(attempt, 3, order) as Rating).candidate), largest);
    const later: Attempt = { ...attempt, attempt: 1 };
    assert.notEqual(tieBreak(later, a.candidate), tieBreak(attempt, a.candidate));
  });

  it("LL12: equal answers are rated one by one and the best counts: a bad proof for a right answer does not harm it", () => {
    const attempt = attemptFor(10);
    const [first] = rolesOf(attempt, 0).workers;
    const outcome = outcomeOf(attempt, { marks: (_, worker) => flat(worker === first ? 20 : 92) });
    assertFields(outcome, { status: "decided", answer: "yes", confidence: 920_000 });
    // The one with the bad proof said the same, and is paid alike.
    assert.equal(outcome?.shares[first as number], SURE_RIGHT);
  });

  it("L06 L10 LL5: an answer or a score sheet that 2/3 or fewer vouch for does not count", () => {
    const attempt = attemptFor(7);
    const { workers, evaluators } = rolesOf(attempt, 0);
    const without =
      (phase: number, hidden: readonly SeatIndex[], vouchers: number): NonNullable<Acts["ready"]> =>
      (seat, at, heard) =>
        at === phase && seat >= vouchers
          ? heard.map((one, of) => (hidden.includes(of as SeatIndex) ? null : one))
          : heard;
    const lie = workers[0] as SeatIndex;
    const acts: Acts = {
      answer: (worker) => (worker === lie ? "no" : "yes"),
      marks: (_, worker) => flat(worker === lie ? 100 : 80),
    };
    assert.equal(outcomeOf(attempt, acts)?.answer, "no");
    assert.equal(outcomeOf(attempt, { ...acts, ready: without(answerBroadcast.ready.phase, [lie], 5) })?.answer, "no");
    assert.equal(outcomeOf(attempt, { ...acts, ready: without(answerBroadcast.ready.phase, [lie], 4) })?.answer, "yes");
    const sheets = evaluators.slice(0, 3);
    const hidden = outcomeOf(attempt, { ready: without(scoreBroadcast.ready.phase, sheets, 4) });
    assert.equal(hidden?.status, "hung");
    const shown = outcomeOf(attempt, { ready: without(scoreBroadcast.ready.phase, sheets, 5) });
    assert.equal(shown?.status, "decided");
  });

  it("L06: a forked answer is dropped although one half was delivered, and its author slashed", () => {
    const attempt = attemptFor(10);
    const [forker] = rolesOf(attempt, 0).workers as readonly [SeatIndex];
    const acts: Acts = {
      answer: (worker) => (worker === forker ? "no" : "yes"),
      marks: (_, worker) => flat(worker === forker ? 100 : 80),
    };
    const tally = addRound(emptyTally, attempt, 0, acts);
    assert.equal(concluded(attempt, tally)?.answer, "no");
    const fork = put(tally, attempt, 0, forker, revealForm.phase, {
      proposal: null,
      seen: attempt.committee.map(() => null),
    });
    assertFields(concluded(attempt, fork), { answer: "yes" });
    assert.deepEqual(concluded(attempt, fork)?.reputationChanges, [{ seat: forker, steps: -1 }]);
  });

  it("LL4: without an approved answer other workers try once more; the first round's equivocators are still slashed", () => {
    const attempt = attemptFor(4);
    const first = addRound(emptyTally, attempt, 0, { answer: () => "no" });
    const evaluator = rolesOf(attempt, 0).evaluators[0] as SeatIndex;
    const fork = put(first, attempt, 0, evaluator, CLOSE, { seen: [attempt.committee.map(() => null)] });
    assert.equal(leaderless.conclude(attempt, fork).kind, "open");
    const outcome = concluded(attempt, addRound(fork, attempt, 1, {}));
    assertFields(outcome, { status: "decided", answer: "yes" });
    assert.deepEqual(outcome?.reputationChanges, [{ seat: evaluator, steps: -1 }]);
    assertFields(concluded(attempt, addRound(first, attempt, 1, { answer: () => "no" })), {
      status: "hung",
      answer: "",
    });
  });

  it("LL15: the workers that gave the winning answer earn, nobody else", () => {
    const attempt = attemptFor(10);
    const { workers, evaluators } = rolesOf(attempt, 0);
    const [mute] = workers;
    const [hostile, silent] = evaluators;
    const outcome = outcomeOf(attempt, {
      answer: (worker) => (worker === mute ? null : "yes"),
      marks: (evaluator) => (evaluator === silent ? undefined : flat(evaluator === hostile ? 0 : 92)),
    });
    attempt.committee.forEach((_, seat) =>
      assert.equal(outcome?.shares[seat], seat !== mute && workers.includes(seat as SeatIndex) ? SURE_RIGHT : 0),
    );
  });

  it("LL15: a worker of round 0 earns for a decision of round 1 if it marks some answer then; later workers earn nothing", () => {
    const attempt = attemptFor(10);
    const first = addRound(emptyTally, attempt, 0, { marks: () => flat(0) });
    const [idle, ...others] = rolesOf(attempt, 0).workers;
    const [target] = rolesOf(attempt, 1).workers;
    const [picky] = others;
    const outcome = concluded(
      attempt,
      addRound(first, attempt, 1, {
        marks: (evaluator, worker) =>
          evaluator === idle || (evaluator === picky && worker !== target) ? null : flat(evaluator === picky ? 0 : 92),
      }),
    );
    assertFields(outcome, { status: "decided", answer: "yes" });
    attempt.committee.forEach((_, seat) =>
      assert.equal(outcome?.shares[seat], others.includes(seat as SeatIndex) ? SURE_RIGHT : 0),
    );
  });

  it("LL17: texts at high assurance are refused; texts at normal assurance, and other kinds at high assurance, are not", () => {
    for (const kind of ["boolean", "choice", "number", "text", "policies"] as const)
      for (const assurance of ["normal", "high"] as const) {
        const refusal = leaderless.refuseRequest(attemptFor(7, { kind, assurance, options: 4 }));
        if (kind === "text" && assurance === "high") assertIncludes(refusal, "does not compare wordings");
        else assert.equal(refusal, null);
      }
  });

  it("L15: with f hostile seats anywhere and truthful evaluators, a decided answer is right; and honest workers suffice to decide", () => {
    const scenario = fc
      .record({
        n: fc.constantFrom(4, 5, 6, 7, 10, 13),
        assurance: fc.constantFrom("normal" as const, "high" as const),
      })
      .chain(({ n, assurance }) =>
        fc.record({
          n: fc.constant(n),
          assurance: fc.constant(assurance),
          hostile: fc.shuffledSubarray(
            Array.from({ length: n }, (_, seat) => seat),
            { minLength: Math.floor((n - 1) / 3), maxLength: Math.floor((n - 1) / 3) },
          ),
          lies: fc.array(fc.constantFrom("no", "yes", null, undefined), { minLength: n, maxLength: n }),
          marks: fc.array(fc.option(fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 5, maxLength: 5 })), {
            minLength: n,
            maxLength: n,
          }),
          right: fc.integer({ min: 60, max: 100 }),
          wrong: fc.integer({ min: 0, max: 59 }),
          hides: fc.boolean(),
        }),
      );
    fc.assert(
      fc.property(scenario, ({ n, assurance, hostile, lies, marks, right, wrong, hides }) => {
        const attempt = attemptFor(n, { assurance });
        const isHostile = (seat: number): boolean => hostile.includes(seat);
        const outcome = outcomeOf(attempt, {
          answer: (worker) => (isHostile(worker) ? lies[worker] : "yes"),
          marks: (evaluator, worker, answer) =>
            isHostile(evaluator)
              ? lies[worker] === "no"
                ? flat(100)
                : (marks[evaluator] ?? null)
              : flat(answer === "yes" ? right : wrong),
          sees: (_, seat, of) => !(hides && isHostile(seat) && !isHostile(of)),
          ready: (seat, _, heard) => heard.map((one, of) => (hides && isHostile(seat) && !isHostile(of) ? null : one)),
        });
        assert.notEqual(outcome, null);
        if (outcome?.status === "decided") assert.equal(outcome.answer, "yes");
        // LL2: two rounds are enough, wherever the hostile seats sit.
        assert.equal(outcome?.status, "decided");
      }),
      { numRuns: 150 },
    );
  });

  it("confidence is the robust score of 100, in ppm", () => {
    assert.equal(outcomeOf(attemptFor(4), { marks: () => [20, 19, 18, 17, 16] })?.confidence, 900_000);
    assert.equal(MEDIAN_UNIT, 1000);
  });
});
