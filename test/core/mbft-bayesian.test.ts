import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { requestHash } from "../../agents/core/encoding/typed-data.ts";
import { expOfNegative, lnOfRatio } from "../../agents/core/protocols/mbft-bayesian/fixed-point.ts";
import { commitForm } from "../../agents/core/phases/proposals.ts";
import { mbftBayesian } from "../../agents/core/protocols/mbft-bayesian/index.ts";
import {
  BITS,
  capOf,
  decidedBy,
  weightOfReport,
  type Belief,
} from "../../agents/core/protocols/mbft-bayesian/rules.ts";
import { addMessage, emptyTally, messagesOf } from "../../agents/core/seat/tally.ts";
import { ONE_PPM, type Attempt, type Ppm } from "../../agents/core/types.ts";
import { propose, put, type Answering } from "../support/message-set.ts";
import { attemptOf } from "../support/core/committee.ts";
import { faultsOf } from "../support/core/run-results.ts";
import {
  CODE,
  HIGH,
  LOW,
  MEDIUM,
  attemptFor,
  closed,
  concluded,
  decision,
  outcomeOf,
  report,
  reports,
} from "../support/core/mbft-bayesian-set.ts";
import { assertClose, assertFields, assertIncludes } from "../support/assertions.ts";

const tiers = fc.constantFrom(LOW, MEDIUM, HIGH);
const asNumber = (fixed: bigint): number => Number(fixed) / 2 ** BITS;

const exactly = (length: number) => ({ minLength: length, maxLength: length });
const listOf = <T>(length: number, of: fc.Arbitrary<T>): fc.Arbitrary<readonly T[]> => fc.array(of, exactly(length));

describe("mbft-bayesian rules", () => {
  it("M27, BA4, BA5: the weight of a report is the log ratio of tau to (1 - tau)/(K - 1), tempered by reputation", () => {
    for (const size of [3, 4, 9, 65])
      for (const tier of [LOW, MEDIUM])
        for (const reputation of [1, 10_000, 333_333, 1_000_000]) {
          const tau = tier / 1e6;
          const expected = Math.max(0, Math.log(tau) - Math.log((1 - tau) / (size - 1))) * (reputation / 1e6);
          assertClose(asNumber(weightOfReport(tier as Ppm, reputation as Ppm, size)), expected, 1e-12);
        }
  });

  it("BA6: a claim of certainty weighs no more than a medium one, and a report never counts against its own answer", () => {
    for (const size of [3, 4, 9, 65]) {
      assert.equal(weightOfReport(HIGH as Ppm, ONE_PPM, size), capOf(size));
      assert.equal(weightOfReport(MEDIUM as Ppm, ONE_PPM, size), capOf(size));
      assert.equal(weightOfReport(LOW as Ppm, ONE_PPM, size) >= 0n, true);
    }
    assert.equal(weightOfReport(LOW as Ppm, ONE_PPM, 3), 0n);
  });

  it("M28, BA7 to BA10: decides iff quorum, posterior and Bayes factor reach their bounds, as floats would have it", () => {
    const answer = fc.constantFrom("A", "B", "C", null);
    fc.assert(
      fc.property(
        fc.array(fc.record({ answer, tier: tiers, rho: fc.integer({ min: 1, max: 1_000_000 }) }), {
          minLength: 4,
          maxLength: 13,
        }),
        fc.constantFrom("normal" as const, "high" as const),
        (acts, assurance) => {
          const n = acts.length;
          const terms = { kind: "choice", options: 3, assurance } as const;
          const attempt = attemptFor(
            n,
            terms,
            acts.map(({ rho }) => rho),
          );
          const outcome = outcomeOf(attempt, acts);
          const given = [...new Set(acts.flatMap((act) => act.answer ?? []))];
          const size = Math.max(given.length, 2) + 1;
          const cap = Math.log((0.7 * (size - 1)) / 0.3);
          const weight = ({ tier, rho }: (typeof acts)[number]): number =>
            Math.min(cap, Math.max(0, Math.log((tier * (size - 1)) / (1e6 - tier)))) * (rho / 1e6);
          const scores = given.map((one) =>
            acts.filter((act) => act.answer === one).reduce((sum, act) => sum + weight(act), 0),
          );
          const ranked = [...scores, 0, 0].toSorted((a, b) => b - a);
          const total = scores.reduce((sum, score) => sum + Math.exp(score), size - given.length);
          const posterior = Math.exp(ranked[0]!) / total;
          const top = given[scores.indexOf(ranked[0]!)];
          const own = acts.filter((act) => act.answer === top && top !== undefined).map(weight);
          const heaviest = own.toSorted((a, b) => b - a).slice(0, faultsOf(n));
          const [theta, factor, quorum] = assurance === "high" ? [0.94, 3, 2 / 3] : [0.9, 2, 1 / 2];
          const needed = heaviest.reduce((sum, one) => sum + one, Math.log(factor));
          const margin = ranked[0]! - ranked[1]!;
          fc.pre(Math.abs(margin - needed) > 1e-9 && Math.abs(posterior - theta) > 2e-6);
          const reported = acts.filter((act) => act.answer !== null).length;
          const counted = given.find((one) => acts.filter((act) => act.answer === one).length > (n * 2) / 3);
          const decides = margin >= needed && posterior >= theta && reported > n * quorum;
          assert.equal(outcome.status, decides || counted !== undefined ? "decided" : "hung");
          if (outcome.status === "hung") return;
          const decided = counted ?? top;
          assert.deepEqual([outcome.answer, decides ? top : decided], [decided, decided]);
        },
      ),
      { numRuns: 400 },
    );
  });

  it("BA8 to BA10: equality suffices; one part less does not, and nothing suffices without a quorum", () => {
    const doubtful = 1n << 64n;
    const top = { answer: { text: "yes", outcome: "0x01" as never }, seats: [], weight: 9n, doubtful };
    const belief = (posterior: number, margin: bigint, hasQuorum = true): Belief => {
      return { hypotheses: [top], size: 3, top, posterior: posterior as Ppm, margin, hasQuorum };
    };
    for (const [assurance, theta, factor] of [
      ["normal", 900_000, 2n],
      ["high", 940_000, 3n],
    ] as const) {
      const needed = doubtful + lnOfRatio(factor, 1n, BITS);
      assert.equal(decidedBy(belief(theta, needed), assurance), top);
      assert.equal(decidedBy(belief(theta - 1, needed), assurance), null);
      assert.equal(decidedBy(belief(theta, needed - 1n), assurance), null);
      assert.equal(decidedBy(belief(theta, needed, false), assurance), null);
      assert.equal(decidedBy({ ...belief(theta, needed), top: null }, assurance), null);
    }
  });

  it("BA8: exactly half of the seats are no quorum; at high assurance exactly two thirds are no quorum", () => {
    const decided = (n: number, reported: number, assurance: "normal" | "high") =>
      decision(
        outcomeOf(
          attemptFor(n, { assurance }),
          reports(n, (seat) => report(seat < reported ? "yes" : null)),
        ),
      );
    assert.deepEqual([decided(12, 6, "normal"), decided(12, 7, "normal")], ["hung", "yes"]);
    assert.deepEqual([decided(12, 8, "high"), decided(12, 9, "high")], ["hung", "yes"]);
  });

  it("M29: one tau = 1 liar against nine does not win", () => {
    const attempt = attemptFor(10);
    assert.equal(
      decision(
        outcomeOf(
          attempt,
          reports(10, (seat) => (seat === 0 ? report("no") : report("yes"))),
        ),
      ),
      "yes",
    );
  });

  it("M29, BA10: an answer that no honest seat gave is never decided, whatever f seats do and whatever the reputations (n = 4..13)", () => {
    const act = fc.record({ answer: fc.constantFrom("A", "B", null), tier: tiers });
    // Often the honest are unsure or silent, and the liars of one mind: the hardest case.
    const quiet = fc.record({ answer: fc.constantFrom("A", null), tier: fc.constant(LOW) });
    const sized = fc.integer({ min: 4, max: 13 }).chain((n) =>
      fc.record({
        liars: fc.array(
          fc.record({ answer: fc.constantFrom("E", "E", "E", "A"), tier: fc.constantFrom(HIGH, HIGH, LOW) }),
          {
            minLength: faultsOf(n),
            maxLength: faultsOf(n),
          },
        ),
        honest: fc.oneof(listOf<Answering>(n - faultsOf(n), act), listOf<Answering>(n - faultsOf(n), quiet)),
        rho: fc.array(fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 1_000_000 })), {
          minLength: n,
          maxLength: n,
        }),
        assurance: fc.constantFrom("normal" as const, "high" as const),
      }),
    );
    fc.assert(
      fc.property(sized, ({ liars, honest, rho, assurance }) => {
        const attempt = attemptFor(rho.length, { kind: "choice", options: 6, assurance }, rho);
        const outcome = outcomeOf(attempt, [...liars, ...honest]);
        if (outcome.status === "decided")
          assertIncludes(
            honest.map(({ answer }) => answer),
            outcome.answer,
          );
      }),
      { numRuns: 600 },
    );
  });

  it("M29, BA6: f liars neither win against n - f honest seats that are medium or surer, nor keep them from deciding (n = 4..64)", () => {
    const lie = fc.record({ answer: fc.constantFrom("B", "C", "D", null), tier: tiers });
    const sized = fc.integer({ min: 4, max: 64 }).chain((n) =>
      fc.record({
        assurance: fc.constantFrom("normal" as const, "high" as const),
        liars: fc.oneof(listOf(faultsOf(n), fc.constant(report("B"))), listOf<Answering>(faultsOf(n), lie)),
        honest: fc.oneof(
          listOf<number>(n - faultsOf(n), fc.constant(MEDIUM)),
          listOf<number>(n - faultsOf(n), fc.constantFrom(MEDIUM, HIGH)),
        ),
      }),
    );
    fc.assert(
      fc.property(sized, ({ liars, honest, assurance }) => {
        const attempt = attemptFor(liars.length + honest.length, { kind: "choice", options: 4, assurance });
        const acts = [...liars, ...honest.map((tier) => report("A", tier))];
        assert.equal(decision(outcomeOf(attempt, acts)), "A");
      }),
      { numRuns: 80 },
    );
  });

  it("BA15: unanimity decides at every size and assurance, even with f silent seats, and where nobody is sure", () => {
    for (const n of [4, 5, 6, 7, 10, 13, 31, 64])
      for (const assurance of ["normal", "high"] as const)
        for (const tier of [MEDIUM, HIGH]) {
          const attempt = attemptFor(n, { assurance });
          const some = reports(n, (seat) => report(seat < faultsOf(n) ? null : "yes", tier));
          const all = reports(n, () => report("yes", tier));
          assert.equal(decision(outcomeOf(attempt, all)), "yes");
          assert.equal(decision(outcomeOf(attempt, some)), "yes");
          assert.equal(
            decision(
              outcomeOf(
                attempt,
                reports(n, () => report("yes", LOW)),
              ),
            ),
            "yes",
          );
        }
  });

  it("BA7: neither a lone report nor f reports decide, because all given answers may be wrong", () => {
    for (const n of [4, 7, 10, 13])
      for (const spoken of [1, faultsOf(n)])
        assert.equal(
          decision(
            outcomeOf(
              attemptFor(n),
              reports(n, (seat) => report(seat < spoken ? "yes" : null)),
            ),
          ),
          "hung",
        );
  });

  it("BA2: two answers with the same weight are a draw, whichever comes first", () => {
    const attempt = attemptFor(4);
    const halves = (first: string, second: string) => reports(4, (seat) => report(seat < 2 ? first : second));
    assert.equal(decision(outcomeOf(attempt, halves("yes", "no"))), "hung");
    assert.equal(decision(outcomeOf(attempt, halves("no", "yes"))), "hung");
  });

  it("BA2: order does not enter: neither the order of arrival nor which seat said what", () => {
    const act = fc.record({ answer: fc.constantFrom("A", "B", null), tier: tiers });
    fc.assert(
      fc.property(
        fc.array(act, { minLength: 7, maxLength: 7 }),
        fc.array(fc.nat(), { minLength: 21, maxLength: 21 }),
        (acts, keys) => {
          const attempt = attemptFor(7, { kind: "choice", options: 2 });
          const tally = [0, 1].reduce((sum, round) => closed(propose(sum, attempt, round, acts)), emptyTally);
          const shuffled = [...messagesOf(tally)]
            .map((message, index) => ({ message, key: keys[index % keys.length]! }))
            .toSorted((a, b) => a.key - b.key)
            .reduce((sum, { message }) => addMessage(sum, message).tally, emptyTally);
          const outcome = concluded(attempt, tally, 1);
          assert.deepEqual(concluded(attempt, shuffled, 1), outcome);
          const turned = outcomeOf(attempt, [...acts.slice(3), ...acts.slice(0, 3)]);
          assert.deepEqual([turned.answer, turned.confidence], [outcome.answer, outcome.confidence]);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("BA3: a report counts once: a repetition changes nothing, there is no third round, and a second version voids it", () => {
    const attempt = attemptFor(4);
    const acts = reports(4, (seat) => report(seat === 0 ? "no" : "yes"));
    const tally = closed(propose(emptyTally, attempt, 0, acts));
    const again = [...messagesOf(tally)].reduce((sum, message) => addMessage(sum, message).tally, tally);
    assert.deepEqual(concluded(attempt, again), concluded(attempt, tally));
    const first = [...messagesOf(tally)][0]!;
    const refusal = (round: number) =>
      mbftBayesian.rejectPayload(attempt, { phase: commitForm.phase, round, seat: first.header.seat }, first.payload);
    assert.deepEqual([refusal(0), refusal(1)], [null, null]);
    assert.equal(refusal(2), "no-such-round");
    const slot = { phase: commitForm.phase, round: 0, seat: 0 };
    const outcome = concluded(attempt, put(tally, attempt, slot, commitForm.encode({ commitment: null })));
    assert.deepEqual(outcome.reputationChanges, [{ seat: 0, steps: -1 }]);
    assert.deepEqual(outcome.shares, [0, SURE_RIGHT, SURE_RIGHT, SURE_RIGHT]);
  });

  it("BA1, BA14: a second round decides by its own reports alone, and pays those of the first", () => {
    const attempt = attemptFor(4, { kind: "choice", options: 4 });
    const rounds = (second: readonly string[], tier = HIGH) => {
      const first = closed(
        propose(
          emptyTally,
          attempt,
          0,
          reports(4, (seat) => report("AABC"[seat]!)),
        ),
      );
      assert.equal(mbftBayesian.conclude(attempt, first).kind, "open");
      return concluded(
        attempt,
        closed(
          propose(
            first,
            attempt,
            1,
            reports(4, (seat) => report(second[seat]!, tier)),
          ),
        ),
        1,
      );
    };
    assert.equal(decision(rounds(["A", "A", "A", "C"])), "A");
    assert.deepEqual(rounds(["A", "A", "A", "C"]).shares, [SURE_RIGHT, SURE_RIGHT, 0, 0]);
    // What two of four said at first adds nothing.
    assert.equal(decision(rounds(["A", "A", "B", "C"], LOW)), "hung");
    assert.equal(decision(rounds(["A", "A", "B", "B"])), "hung");
  });

  it("BA15: what more than 2/3 of the seats say is decided however unsure, and exactly 2/3 are too few", () => {
    const attempt = attemptFor(6);
    const said = (agreeing: number, others: number) =>
      outcomeOf(
        attempt,
        reports(6, (seat) => (seat < agreeing ? report("yes", LOW) : report("no", others))),
      );
    // No evidence for "yes": its posterior is 1 / (1 + 14/3 + 1), as likely as an answer that nobody gave.
    assertFields(said(5, HIGH), { status: "decided", answer: "yes" });
    assert.equal(said(4, LOW).status, "hung");
  });

  it("BA10, BA14, property: n - f seats that agree at first decide in the first round, whatever f seats report", () => {
    const sized = fc.integer({ min: 4, max: 13 }).chain((n) => {
      const lie = fc.record({ answer: fc.constantFrom("A", "B", "C", null), tier: tiers });
      return fc.tuple(fc.constant(n), fc.array(lie, { minLength: faultsOf(n), maxLength: faultsOf(n) }));
    });
    fc.assert(
      fc.property(sized, ([n, lies]) => {
        const attempt = attemptFor(n, { kind: "choice", options: 4 });
        const tally = closed(
          propose(
            emptyTally,
            attempt,
            0,
            reports(n, (seat) => lies[seat] ?? report("D", MEDIUM)),
          ),
        );
        assert.equal(decision(concluded(attempt, tally)), "D");
      }),
      { numRuns: 60 },
    );
  });

  it("BA1: nothing is carried over from an earlier request", () => {
    const acts = reports(7, (seat) => report(seat < 3 ? "no" : "yes"));
    const attempt = attemptFor(7);
    const before = outcomeOf(attempt, acts);
    outcomeOf(
      attempt,
      reports(7, () => report("no")),
    );
    const next: Attempt = { ...attempt, request: { ...attempt.request, id: 8n as never } };
    assert.deepEqual(outcomeOf(next, acts), before);
  });

  it("BA3, PH4: a report counts if more than half of the seats held it in time, and not with half", () => {
    const attempt = attemptFor(6);
    const acts = reports(6, () => report("yes"));
    for (const holders of [3, 4]) {
      const tally = closed(propose(emptyTally, attempt, 0, acts), (seat, of) => of !== 0 || seat < holders);
      const counts = holders === 4;
      const outcome = concluded(attempt, tally);
      assert.equal(outcome.shares[0], counts ? SURE_RIGHT : 0);
      const alike = outcomeOf(
        attempt,
        acts.map((act, seat) => (seat === 0 && !counts ? report(null) : act)),
      );
      assert.equal(outcome.confidence, alike.confidence);
    }
  });

  it("BA11, BA12: only who was right earns and recovers; who was sure and wrong falls a step; Hung pays the reports alike", () => {
    const attempt = attemptFor(7, {}, [999_999, 999_999, 999_999]);
    const decided = outcomeOf(
      attempt,
      reports(7, (seat) => report(seat === 0 ? "no" : seat === 1 ? null : "yes")),
    );
    assert.equal(decision(decided), "yes");
    assert.deepEqual(decided.reputationChanges, [
      { seat: 0, steps: -1 },
      { seat: 2, steps: 1 },
    ]);
    assert.deepEqual(decided.shares, [0, 0, ...Array<number>(5).fill(SURE_RIGHT)]);
    const hung = outcomeOf(
      attempt,
      reports(7, (seat) => report(seat < 3 ? "no" : seat === 3 ? null : "yes")),
    );
    assert.equal(decision(hung), "hung");
    assert.deepEqual(hung.shares, [1, 1, 1, 0, 1, 1, 1]);
  });

  it("M30, BA13: which protocol decides is part of the request that everybody signs", () => {
    const hash = (protocol: number) => requestHash(attemptOf(4, { protocol }).request);
    assert.notEqual(hash(1), hash(CODE));
  });

  it("BA4: 64 bits after the point, the same on every node", () => {
    assert.equal(capOf(3), lnOfRatio(14n, 3n, 64));
    assert.equal(expOfNegative(0n, BITS), 1n << 64n);
    // ln(14/3) = 1.5404450409471490...
    assert.equal(capOf(3), 28_416_195_429_967_086_972n);
  });
});
