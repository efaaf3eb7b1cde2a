import { expect } from "chai";
import fc from "fast-check";
import { describe, it } from "node:test";
import { requestHash } from "../../agents/core/digest.ts";
import { matchForm } from "../../agents/core/equivalence.ts";
import { expOfNegative, lnOfRatio } from "../../agents/core/fixed-point.ts";
import { commitForm } from "../../agents/core/proposals.ts";
import { mbftBayesian } from "../../agents/core/protocols/mbft-bayesian/index.ts";
import {
  BITS,
  capOf,
  committedBy,
  evidenceOf,
  neededMargin,
  type Belief,
} from "../../agents/core/protocols/mbft-bayesian/rules.ts";
import { CLOSE, closeForm } from "../../agents/core/round-book.ts";
import { addMessage, emptyTally, messagesOf, type Tally } from "../../agents/core/tally.ts";
import { ONE_PPM, type Attempt, type Outcome, type Ppm, type Terms } from "../../agents/core/types.ts";
import { propose, put, say, type Answering, type Saying } from "../../scripts/lib/attacks/message-set.ts";
import { attemptOf } from "./committee.ts";

const CODE = 2;
const LOW = 300_000;
const MEDIUM = 700_000;
const HIGH = 900_000;
const tiers = fc.constantFrom(LOW, MEDIUM, HIGH);

const attemptFor = (n: number, terms: Partial<Terms> = {}, reputations: readonly number[] = []): Attempt =>
  attemptOf(n, { protocol: CODE, ...terms }, reputations);
const report = (answer: string | null, tier = HIGH): Answering => ({ answer, tier });
const reports = (n: number, of: (seat: number) => Answering): readonly Answering[] =>
  Array.from({ length: n }, (_, seat) => of(seat));
const closed = (revealed: Saying, holds?: (seat: number, of: number) => boolean): Tally =>
  say(
    revealed,
    closeForm,
    revealed.attempt.committee.map(() => ({})),
    holds,
  ).tally;

function outcomeOf(attempt: Attempt, answers: readonly Answering[]): Outcome {
  return concluded(attempt, closed(propose(emptyTally, attempt, 0, answers)));
}

function concluded(attempt: Attempt, tally: Tally): Outcome {
  const conclusion = mbftBayesian.conclude(attempt, tally);
  if (conclusion.kind !== "final") throw new Error("the set is open");
  expect(conclusion.through).to.deep.equal({ round: 0, phase: CLOSE });
  return conclusion.outcome;
}

const decision = ({ status, answer }: Outcome): string => (status === "decided" ? answer : status);
const asNumber = (fixed: bigint): number => Number(fixed) / 2 ** BITS;
const faults = (n: number): number => Math.floor((n - 1) / 3);

describe("mbft-bayesian rules", () => {
  it("M27, BA4, BA5: evidence is the log ratio of tau to (1 - tau)/(K - 1), tempered by reputation", () => {
    for (const size of [3, 4, 9, 65])
      for (const tier of [LOW, MEDIUM])
        for (const reputation of [1, 10_000, 333_333, 1_000_000]) {
          const tau = tier / 1e6;
          const expected = Math.max(0, Math.log(tau) - Math.log((1 - tau) / (size - 1))) * (reputation / 1e6);
          expect(asNumber(evidenceOf(tier as Ppm, reputation as Ppm, size))).to.be.closeTo(expected, 1e-12);
        }
  });

  it("BA6: a claim of certainty weighs no more than a medium one, and a report never counts against its own answer", () => {
    for (const size of [3, 4, 9, 65]) {
      expect(evidenceOf(HIGH as Ppm, ONE_PPM, size)).to.equal(capOf(size));
      expect(evidenceOf(MEDIUM as Ppm, ONE_PPM, size)).to.equal(capOf(size));
      expect(evidenceOf(LOW as Ppm, ONE_PPM, size) >= 0n).to.equal(true);
    }
    expect(evidenceOf(LOW as Ppm, ONE_PPM, 3)).to.equal(0n);
  });

  it("M28, BA7 to BA9: commits iff posterior and Bayes factor both reach their bounds, as floats would have it", () => {
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
          const heaviest = acts
            .map(({ rho }) => rho)
            .toSorted((a, b) => b - a)
            .slice(0, faults(n));
          const needed = heaviest.reduce((sum, rho) => sum + (rho / 1e6) * cap, Math.log(3));
          const margin = ranked[0]! - ranked[1]!;
          fc.pre(Math.abs(margin - needed) > 1e-9 && Math.abs(posterior - (assurance === "high" ? 0.98 : 0.9)) > 2e-6);
          const commits = margin >= needed && posterior >= (assurance === "high" ? 0.98 : 0.9);
          expect(outcome.status).to.equal(commits ? "decided" : "hung");
          if (!commits) return;
          expect(outcome.answer).to.equal(given[scores.indexOf(ranked[0]!)]);
          expect(Math.abs(outcome.confidence - posterior * 1e6)).to.be.at.most(1.001);
        },
      ),
      { numRuns: 400 },
    );
  });

  it("BA8, BA9: equality suffices, one part less does not", () => {
    const top = { answer: { text: "yes", outcome: "0x01" as never }, seats: [], evidence: 9n };
    const belief = (posterior: number, margin: bigint): Belief => ({
      hypotheses: [top],
      size: 3,
      top,
      posterior: posterior as Ppm,
      margin,
      needed: { posterior: 900_000 as Ppm, margin: 100n },
    });
    expect(committedBy(belief(900_000, 100n))).to.equal(top);
    expect(committedBy(belief(899_999, 100n))).to.equal(null);
    expect(committedBy(belief(900_000, 99n))).to.equal(null);
    expect(committedBy({ ...belief(900_000, 100n), top: null })).to.equal(null);
  });

  it("BA9: the margin is what the f heaviest seats can bring, times three", () => {
    const margin = asNumber(neededMargin(attemptFor(7, {}, [1_000_000, 500_000, 400_000]), 3));
    expect(margin).to.be.closeTo(2 * Math.log(14 / 3) + Math.log(3), 1e-12);
    const poor = asNumber(neededMargin(attemptFor(4, {}, [100_000, 100_000, 100_000, 200_000]), 3));
    expect(poor).to.be.closeTo(0.2 * Math.log(14 / 3) + Math.log(3), 1e-12);
  });

  it("M29: one tau = 1 liar against nine does not win", () => {
    const attempt = attemptFor(10);
    expect(
      decision(
        outcomeOf(
          attempt,
          reports(10, (seat) => (seat === 0 ? report("no") : report("yes"))),
        ),
      ),
    ).to.equal("yes");
  });

  it("M29, BA9: what no honest seat says is never decided, whatever f seats do and whatever the reputations (n = 4..13)", () => {
    const act = fc.record({ answer: fc.constantFrom("A", "B", null), tier: tiers });
    // Often the honest are unsure or silent, and the liars of one mind: the hardest case.
    const quiet = fc.record({ answer: fc.constantFrom("A", null), tier: fc.constant(LOW) });
    const sized = fc.integer({ min: 4, max: 13 }).chain((n) =>
      fc.record({
        liars: fc.array(
          fc.record({ answer: fc.constantFrom("E", "E", "E", "A"), tier: fc.constantFrom(HIGH, HIGH, LOW) }),
          {
            minLength: faults(n),
            maxLength: faults(n),
          },
        ),
        honest: fc.oneof(
          fc.array(act, { minLength: n - faults(n), maxLength: n - faults(n) }),
          fc.array(quiet, { minLength: n - faults(n), maxLength: n - faults(n) }),
        ),
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
        if (outcome.status === "decided") expect(honest.map(({ answer }) => answer)).to.include(outcome.answer);
      }),
      { numRuns: 600 },
    );
  });

  it("M29, BA6: f liars neither win against n - f honest seats that are medium or surer, nor keep them from deciding (n = 4..64)", () => {
    const lie = fc.record({ answer: fc.constantFrom("B", "C", "D", null), tier: tiers });
    const sized = fc.integer({ min: 4, max: 64 }).chain((n) =>
      fc.record({
        liars: fc.array(lie, { minLength: faults(n), maxLength: faults(n) }),
        honest: fc.array(fc.constantFrom(MEDIUM, HIGH), { minLength: n - faults(n), maxLength: n - faults(n) }),
      }),
    );
    fc.assert(
      fc.property(sized, ({ liars, honest }) => {
        const attempt = attemptFor(liars.length + honest.length, { kind: "choice", options: 4 });
        const acts = [...liars, ...honest.map((tier) => report("A", tier))];
        expect(decision(outcomeOf(attempt, acts))).to.equal("A");
      }),
      { numRuns: 80 },
    );
  });

  it("unanimity commits at every size and assurance, f silent seats do not matter; but not when nobody is sure", () => {
    for (const n of [4, 5, 6, 7, 10, 13, 31, 64])
      for (const assurance of ["normal", "high"] as const)
        for (const tier of [MEDIUM, HIGH]) {
          const attempt = attemptFor(n, { assurance });
          const some = reports(n, (seat) => report(seat < faults(n) ? null : "yes", tier));
          expect(
            decision(
              outcomeOf(
                attempt,
                reports(n, () => report("yes", tier)),
              ),
            ),
          ).to.equal("yes");
          expect(decision(outcomeOf(attempt, some))).to.equal("yes");
          expect(
            decision(
              outcomeOf(
                attempt,
                reports(n, () => report("yes", LOW)),
              ),
            ),
          ).to.equal("hung");
        }
  });

  it("BA8: at high assurance f liars keep four seats from deciding, and no more than four", () => {
    for (let n = 4; n <= 13; n++) {
      const acts = reports(n, (seat) => report(seat < faults(n) ? "no" : "yes"));
      expect(decision(outcomeOf(attemptFor(n, { assurance: "high" }), acts))).to.equal(n === 4 ? "hung" : "yes");
    }
  });

  it("BA7: a lone report does not commit, because none of the answers may be right; nor do f reports", () => {
    for (const n of [4, 7, 10, 13])
      for (const spoken of [1, faults(n)])
        expect(
          decision(
            outcomeOf(
              attemptFor(n),
              reports(n, (seat) => report(seat < spoken ? "yes" : null)),
            ),
          ),
        ).to.equal("hung");
  });

  it("BA2: two answers with the same evidence are a draw, whoever comes first", () => {
    const attempt = attemptFor(4);
    const halves = (first: string, second: string) => reports(4, (seat) => report(seat < 2 ? first : second));
    expect(decision(outcomeOf(attempt, halves("yes", "no")))).to.equal("hung");
    expect(decision(outcomeOf(attempt, halves("no", "yes")))).to.equal("hung");
  });

  it("BA2: order does not enter: neither the order of arrival nor which seat said what", () => {
    const act = fc.record({ answer: fc.constantFrom("A", "B", null), tier: tiers });
    fc.assert(
      fc.property(
        fc.array(act, { minLength: 7, maxLength: 7 }),
        fc.array(fc.nat(), { minLength: 21, maxLength: 21 }),
        (acts, keys) => {
          const attempt = attemptFor(7, { kind: "choice", options: 2 });
          const tally = closed(propose(emptyTally, attempt, 0, acts));
          const shuffled = [...messagesOf(tally)]
            .map((message, index) => ({ message, key: keys[index]! }))
            .toSorted((a, b) => a.key - b.key)
            .reduce((sum, { message }) => addMessage(sum, message).tally, emptyTally);
          const outcome = concluded(attempt, tally);
          expect(concluded(attempt, shuffled)).to.deep.equal(outcome);
          const turned = outcomeOf(attempt, [...acts.slice(3), ...acts.slice(0, 3)]);
          expect([turned.answer, turned.confidence]).to.deep.equal([outcome.answer, outcome.confidence]);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("BA3: a report counts once: said again it changes nothing, there is no further round, a second version voids it", () => {
    const attempt = attemptFor(4);
    const acts = reports(4, (seat) => report(seat === 0 ? "no" : "yes"));
    const tally = closed(propose(emptyTally, attempt, 0, acts));
    const again = [...messagesOf(tally)].reduce((sum, message) => addMessage(sum, message).tally, tally);
    expect(concluded(attempt, again)).to.deep.equal(concluded(attempt, tally));
    const first = [...messagesOf(tally)][0]!;
    const refusal = (round: number) =>
      mbftBayesian.refuses(attempt, { phase: commitForm.phase, round, seat: first.header.seat }, first.payload);
    expect(refusal(0)).to.equal(null);
    expect(refusal(1)).to.equal("no-such-round");
    const slot = { phase: commitForm.phase, round: 0, seat: 0 };
    const outcome = concluded(attempt, put(tally, attempt, slot, commitForm.encode({ commitment: null })));
    expect(outcome.reputationChanges).to.deep.equal([{ seat: 0, steps: -1 }]);
    expect(outcome.shares).to.deep.equal([0, 2, 2, 2]);
    expect(outcome.confidence).to.be.above(concluded(attempt, tally).confidence);
  });

  it("BA1: nothing is left from the request before", () => {
    const acts = reports(7, (seat) => report(seat < 3 ? "no" : "yes"));
    const attempt = attemptFor(7);
    const before = outcomeOf(attempt, acts);
    outcomeOf(
      attempt,
      reports(7, () => report("no")),
    );
    const next: Attempt = { ...attempt, request: { ...attempt.request, id: 8n as never } };
    expect(outcomeOf(next, acts)).to.deep.equal(before);
  });

  it("BA3, PH4: a report that half of the seats or fewer held in time does not count, one more and it does", () => {
    const attempt = attemptFor(6);
    const acts = reports(6, () => report("yes"));
    for (const holders of [3, 4]) {
      const tally = closed(propose(emptyTally, attempt, 0, acts), (seat, of) => of !== 0 || seat < holders);
      const counts = holders === 4;
      const outcome = concluded(attempt, tally);
      expect(outcome.shares[0]).to.equal(counts ? 2 : 0);
      const alike = outcomeOf(
        attempt,
        acts.map((act, seat) => (seat === 0 && !counts ? report(null) : act)),
      );
      expect(outcome.confidence).to.equal(alike.confidence);
    }
  });

  it("BA10, BA11: nobody is slashed for an opinion; who was right earns twice, who spoke earns once", () => {
    const attempt = attemptFor(7, {}, [999_999, 999_999, 999_999]);
    const decided = outcomeOf(
      attempt,
      reports(7, (seat) => report(seat === 0 ? "no" : seat === 1 ? null : "yes")),
    );
    expect(decision(decided)).to.equal("yes");
    expect(decided.reputationChanges).to.deep.equal([
      { seat: 0, steps: 1 },
      { seat: 2, steps: 1 },
    ]);
    expect(decided.shares).to.deep.equal([1, 0, 2, 2, 2, 2, 2]);
    const hung = outcomeOf(
      attempt,
      reports(7, (seat) => report(seat < 3 ? "no" : seat === 3 ? null : "yes")),
    );
    expect(decision(hung)).to.equal("hung");
    expect(hung.shares).to.deep.equal([1, 1, 1, 0, 1, 1, 1]);
  });

  it("M30: which protocol decides is part of the request that everybody signs", () => {
    const hash = (protocol: number) => requestHash(attemptOf(4, { protocol }).request);
    expect(hash(1)).to.not.equal(hash(CODE));
  });

  it("BA4: 64 bits after the point, the same on every node", () => {
    expect(capOf(3)).to.equal(lnOfRatio(14n, 3n, 64));
    expect(expOfNegative(0n, BITS)).to.equal(1n << 64n);
    // ln(14/3) = 1.5404450409471490...
    expect(capOf(3)).to.equal(28_416_195_429_967_086_972n);
  });
});

describe("mbft-bayesian answers of every kind", () => {
  it("choice, number within tolerance, policies", () => {
    const choice = attemptFor(7, { kind: "choice", options: 4 });
    expect(
      decision(
        outcomeOf(
          choice,
          reports(7, (seat) => report(seat < 2 ? "a" : "C")),
        ),
      ),
    ).to.equal("C");
    const number = attemptFor(7, { kind: "number", decimals: 1, tolerance: 5n });
    const values = ["10.0", "10.1", "10.2", "10.3", "10.4", "99", "98"];
    expect(
      decision(
        outcomeOf(
          number,
          reports(7, (seat) => report(values[seat]!)),
        ),
      ),
    ).to.equal("10.2");
    const policies = attemptFor(7, { kind: "policies", options: 4 });
    expect(
      decision(
        outcomeOf(
          policies,
          reports(7, (seat) => report(seat < 2 ? "A" : "A,C")),
        ),
      ),
    ).to.equal("A,C");
  });

  it("texts: different wordings are one hypothesis once more than half of the seats say they mean the same", () => {
    const attempt = attemptFor(4, { kind: "text" });
    const acts = reports(4, (seat) => report(seat < 2 ? "The treaty was signed in 1648." : "It was signed in 1648."));
    const revealed = propose(emptyTally, attempt, 0, acts);
    const outcomes = ["The treaty was signed in 1648.", "It was signed in 1648."].map((text) =>
      outcomeOfText(attempt, text),
    );
    const [first, second] = outcomes.toSorted() as [never, never];
    const matched = (agreeing: number) =>
      closed(
        say(
          revealed,
          matchForm,
          attempt.committee.map((_, seat) => ({ matches: [{ first, second, same: seat < agreeing }] })),
        ),
      );
    expect(decision(concluded(attempt, matched(3)))).to.match(/1648/);
    expect(concluded(attempt, matched(3)).shares).to.deep.equal([2, 2, 2, 2]);
    expect(decision(concluded(attempt, matched(2)))).to.equal("hung");
  });
});

function outcomeOfText(attempt: Attempt, text: string): string {
  const tally = propose(
    emptyTally,
    attempt,
    0,
    attempt.committee.map(() => report(text)),
  );
  return concluded(
    attempt,
    closed(
      say(
        tally,
        matchForm,
        attempt.committee.map(() => ({ matches: [] })),
      ),
    ),
  ).outcome;
}
