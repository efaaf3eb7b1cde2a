import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { commitForm, revealForm } from "../../agents/core/phases/proposals.ts";
import { mbftBayesian } from "../../agents/core/protocols/mbft-bayesian/index.ts";
import { protocolByCode, protocolById } from "../../agents/core/protocols/index.ts";
import type { Terms } from "../../agents/core/types.ts";
import { attemptOf, runCommittee, type CommitteeRun, type SeatScript } from "../support/core/committee.ts";
import { honest, liar } from "../support/core/mbft-scripts.ts";

const attemptFor = (n: number, terms: Partial<Terms> = {}) => attemptOf(n, { protocol: 2, ...terms });
const seats = (n: number, of: (seat: number) => SeatScript): readonly SeatScript[] =>
  Array.from({ length: n }, (_, seat) => of(seat));

/** What the seats from `first` on certified; they must all have certified the same. */
function certified(run: CommitteeRun, first = 0): string {
  const decisions = run.certificates.slice(first).map((one) => one?.decision);
  assert.equal(new Set(decisions.map((decision) => decision?.transcript)).size, 1);
  assert.equal(new Set(decisions.map((decision) => `${decision?.status} ${decision?.answer}`)).size, 1);
  return `${decisions[0]?.status} ${decisions[0]?.answer}`;
}

describe("mbft-bayesian over a committee", () => {
  it("is registered as code 2", () => {
    assert.equal(protocolByCode(2), mbftBayesian);
    assert.equal(protocolById("mbft-bayesian"), mbftBayesian);
  });

  it("decides with one model call per seat and one certificate", () => {
    const run = runCommittee(
      mbftBayesian,
      attemptFor(4),
      seats(4, () => honest("yes")),
    );
    assert.equal(certified(run), "decided yes");
    assert.equal(run.asks, 4);
    for (const certificate of run.certificates) assert.equal(certificate?.signatures.length, 3);
  });

  for (const n of [4, 7, 10, 13])
    it(`n = ${n}: f liars that claim certainty neither stall nor win, and lose a step each`, () => {
      const f = Math.floor((n - 1) / 3);
      for (let seed = 1; seed <= 3; seed++) {
        const scripts = seats(n, (seat) => (seat < f ? liar : honest("yes", 700_000)));
        const run = runCommittee(mbftBayesian, attemptFor(n), scripts, { seed });
        assert.equal(certified(run), "decided yes");
        assert.deepEqual(
          run.certificates[f]?.decision.reputationChanges,
          Array.from({ length: f }, (_, seat) => ({ seat, steps: -1 })),
        );
      }
    });

  it("f crashed seats delay but do not stop a decision", () => {
    const scripts = seats(7, (seat) => ({ ...honest("yes"), crashed: seat < 2 }));
    const run = runCommittee(mbftBayesian, attemptFor(7), scripts);
    assert.equal(certified(run, 2), "decided yes");
  });

  it("M20: a seat whose model fails abstains, and counts for nothing", () => {
    const scripts = seats(7, (seat) => (seat < 2 ? { answer: () => null } : honest("yes")));
    const run = runCommittee(mbftBayesian, attemptFor(7), scripts);
    assert.equal(certified(run), "decided yes");
    assert.deepEqual(run.certificates[2]?.decision.shares, [0, 0, ...Array<number>(5).fill(SURE_RIGHT)]);
  });

  it("a report that is revealed late does not count; the others decide without it", () => {
    const scripts = seats(7, (seat) =>
      seat === 0 ? { ...liar, say: (effect) => (effect.phase === revealForm.phase ? [] : [effect]) } : honest("yes"),
    );
    const run = runCommittee(mbftBayesian, attemptFor(7), scripts);
    assert.equal(certified(run, 1), "decided yes");
    assert.equal(run.certificates[1]?.decision.shares[0], 0);
  });

  it("an equivocator yields evidence at every honest seat, is slashed, and counts for nothing", () => {
    const scripts = seats(4, (seat) =>
      seat === 0
        ? {
            ...honest("yes"),
            say: (effect, to) =>
              effect.phase === commitForm.phase && to > 1 ? [{ ...effect, payload: { commitment: null } }] : [effect],
          }
        : honest("yes"),
    );
    const run = runCommittee(mbftBayesian, attemptFor(4), scripts);
    assert.equal(certified(run, 1), "decided yes");
    for (const seat of [1, 2, 3])
      assert.equal(
        run.effects[seat]?.some((effect) => effect.kind === "evidence"),
        true,
      );
    assert.deepEqual(run.certificates[1]?.decision.reputationChanges, [{ seat: 0, steps: -1 }]);
    assert.deepEqual(run.certificates[1]?.decision.shares, [0, SURE_RIGHT, SURE_RIGHT, SURE_RIGHT]);
  });

  it("BA14: in the second round seats see what others reported, and may be convinced", () => {
    const turned: SeatScript = {
      answer: (ask) => {
        const isSecond = ask.prompt.small.user.includes("yes: computed");
        return honest(isSecond ? "yes" : "no").answer(ask);
      },
    };
    const run = runCommittee(
      mbftBayesian,
      attemptFor(4),
      seats(4, (seat) => (seat < 2 ? honest("yes") : turned)),
    );
    assert.equal(certified(run), "decided yes");
    assert.equal(run.asks, 8);
    assert.deepEqual(run.certificates[0]?.decision.shares, [SURE_RIGHT, SURE_RIGHT, 0, 0]);
  });

  it("two camps of equal weight end as Hung, with a certificate, after two rounds", () => {
    const run = runCommittee(
      mbftBayesian,
      attemptFor(4),
      seats(4, (seat) => honest(seat < 2 ? "yes" : "no")),
    );
    assert.equal(certified(run), "hung ");
    assert.equal(run.asks, 8);
  });

  it("a committee that is not sure and does not agree ends as Hung; one that agrees decides (BA15)", () => {
    const unsure = (answers: readonly string[]) =>
      runCommittee(
        mbftBayesian,
        attemptFor(4),
        seats(4, (seat) => honest(answers[seat]!, 400_000)),
      );
    assert.equal(certified(unsure(["yes", "yes", "no", "no"])), "hung ");
    assert.equal(certified(unsure(["yes", "yes", "yes", "no"])), "decided yes");
  });

  it("texts are compared in a phase of their own: other words, the same hypothesis", () => {
    const words = ["Paris.", "The city of Paris."];
    const script = (seat: number): SeatScript => ({
      answer: ({ ask }) =>
        ask.includes("match")
          ? { fields: { check: "both name Paris", verdict: "same" } }
          : { fields: { proof: "known", answer: words[seat % 2] ?? "" } },
    });
    const run = runCommittee(mbftBayesian, attemptFor(4, { kind: "text" }), seats(4, script));
    assert.match(certified(run), /^decided .*Paris\.$/);
    assert.equal(run.asks, 8);
  });

  it("numbers within tolerance are one hypothesis", () => {
    const script = (seat: number): SeatScript => ({
      answer: () => ({ fields: { proof: "measured", answer: `10.${seat % 3}` } }),
    });
    const terms = { kind: "number", decimals: 1, tolerance: 2n } as const;
    assert.equal(certified(runCommittee(mbftBayesian, attemptFor(4, terms), seats(4, script))), "decided 10");
  });
});
