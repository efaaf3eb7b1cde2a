import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { limits } from "../../agents/core/limits.ts";
import { attemptOf } from "../support/core/committee.ts";
import { accept, finalOf, reject, seatsDoing, type SeatActs } from "../support/core/mbft-set.ts";
import { assertFields, assertIncludes } from "../support/assertions.ts";

describe("mbft: what is counted, and whom a vote supports", () => {
  it("MB14: of two answers that may be decided most members win, however many accept the other one", () => {
    const votes = (accused: number) => ({ [accused]: accept });
    const acts = seatsDoing(7, (seat) => {
      if (seat < 3) return { answer: "yes", tier: 700_000, votes: votes(3) };
      return seat < 5 ? { answer: "no", votes: votes(0) } : { votes: votes(3) };
    });
    // "no" has seven seats behind it, "yes" five; more seats found "yes" by themselves.
    assertFields(finalOf(attemptOf(7), acts), { status: "decided", answer: "yes" });
  });

  it("MB14: of as many members the greatest sum wins, not the loudest leader", () => {
    const acts = seatsDoing(6, (seat) => {
      if (seat < 2) return { answer: "no", tier: seat === 0 ? 900_000 : 300_000, votes: { 2: accept } };
      return seat < 4
        ? { answer: "yes", tier: 700_000, votes: { 0: accept } }
        : { votes: { [seat === 4 ? 2 : 0]: accept } };
    });
    assertFields(finalOf(attemptOf(6), acts), { status: "decided", answer: "yes" });
  });

  it("MB9: a seat that accepts two answers besides its own has accepted none, and its rejections stand", () => {
    const attempt = attemptOf(7, { kind: "number" });
    const decided = (also: Record<number, { readonly verdict: "accept" | "reject" }>): string | undefined =>
      finalOf(
        attempt,
        seatsDoing(7, (seat) => {
          if (seat < 3) return { answer: "1" };
          if (seat < 5) return { answer: "2", votes: seat === 3 ? { 0: accept, ...also } : {} };
          return { answer: "3" };
        }),
      )?.answer;
    assert.equal(decided({}), "1");
    assert.equal(decided({ 5: reject }), "1");
    assert.equal(decided({ 5: accept }), undefined);
  });

  it("MB20: three of four that agree decide, however unsure, against a sure liar and whoever it convinces", () => {
    const acts = seatsDoing(4, (seat) =>
      seat === 0
        ? { answer: "no", votes: { 1: reject }, judgements: {} }
        : { answer: "yes", tier: 300_000, votes: { 0: accept }, judgements: { "0>1": "uphold" } },
    );
    for (const assurance of ["normal", "high"] as const) {
      const outcome = finalOf(attemptOf(4, { assurance }, [1_000_000, 1, 1, 1]), acts);
      assertFields(outcome, { status: "decided", answer: "yes" });
      // MB16: no counter-proof counts, so nobody is slashed for one; who was wrong when sure falls by PY5.
      assertIncludes(
        outcome?.reputationChanges.filter(({ steps }) => steps < 0).map(({ seat }) => seat),
        0,
      );
    }
    // Two of three that answered are not more than 2/3 of four.
    const unsure: SeatActs = { answer: "yes", tier: 300_000 };
    assert.equal(finalOf(attemptOf(4), [{ answer: "no" }, unsure, unsure, {}]), null);
  });

  it("MB9 MB16: what is said of one answer says nothing of others within the tolerance", () => {
    const attempt = attemptOf(7, { kind: "number", decimals: 0, tolerance: 10n });
    const rejectsLie = { 5: reject };
    // The answers of three agree, of which 15 is the median: the lie is within the tolerance of that, and of no class with them.
    const acts = (lie: string): readonly SeatActs[] =>
      ["10", "15", "20", "40", "40", lie, "60"].map((answer, seat) => ({
        answer,
        votes: seat < 3 ? rejectsLie : seat < 5 ? { 1: accept, ...rejectsLie } : {},
        judgements: Object.fromEntries([0, 1, 2, 3, 4].map((author) => [`${author}>5`, "uphold" as const])),
      }));
    const [far, near] = ["26", "25"].map((lie) => finalOf(attempt, acts(lie)));
    for (const outcome of [far, near]) {
      assertFields(outcome, { status: "decided", answer: "15" });
      assert.deepEqual(outcome?.reputationChanges, []);
    }
  });

  const anyVerdict = fc.constantFrom("accept", "reject", "abstain" as const);
  const anyTier = fc.constantFrom(300_000, 700_000, 900_000);
  const anyVotes = (n: number) =>
    fc.dictionary(
      fc.nat({ max: n - 1 }).map(String),
      fc.record({ verdict: anyVerdict, tier: anyTier }),
      // A message has room for as many votes; one with more says nothing.
      { maxKeys: limits.classesPerRound },
    ) as fc.Arbitrary<NonNullable<SeatActs["votes"]>>;

  it("MB20: n - f seats that agree decide their answer, whatever f liars answer, vote and judge", () => {
    const world = fc.integer({ min: 4, max: 13 }).chain((n) => {
      const f = Math.floor((n - 1) / 3);
      const liar = fc.record({ answer: fc.constantFrom("yes", "no"), tier: anyTier, votes: anyVotes(n) });
      return fc.record({
        liars: fc.array(liar, { minLength: f, maxLength: f }),
        honest: fc.array(fc.record({ tier: anyTier, votes: anyVotes(n) }), { minLength: n - f, maxLength: n - f }),
        reputation: fc.constantFrom(1, 500_000, 1_000_000),
        assurance: fc.constantFrom("normal", "high" as const),
      });
    });
    fc.assert(
      fc.property(world, ({ liars, honest, reputation, assurance }) => {
        const acts = [...liars, ...honest.map((act) => ({ ...act, answer: "yes" }))];
        const reputations = acts.map((_, seat) => (seat < liars.length ? 1_000_000 : reputation));
        const outcome = finalOf(attemptOf(acts.length, { assurance }, reputations), acts);
        assertFields(outcome, { status: "decided", answer: "yes" });
      }),
      { numRuns: 60 },
    );
  });

  it("MB9: what a seat accepts besides a second answer changes nothing", () => {
    const acts = fc.array(fc.record({ answer: fc.constantFrom("1", "2", "3"), tier: anyTier, votes: anyVotes(5) }), {
      minLength: 5,
      maxLength: 5,
    });
    fc.assert(
      fc.property(acts, (all) => {
        const attempt = attemptOf(5, { kind: "number" });
        // What a seat accepts of answers other than its own, each answer once.
        const plain = all.map((act): SeatActs => {
          const entries = Object.entries(act.votes).filter(([of]) => all[Number(of)]!.answer !== act.answer);
          const once = entries.filter(
            ([of], index) => entries.findIndex(([to]) => all[Number(to)]!.answer === all[Number(of)]!.answer) === index,
          );
          return { ...act, votes: Object.fromEntries(once) };
        });
        const without = plain.map((act): SeatActs => {
          const entries = Object.entries(act.votes ?? {});
          const accepted = entries.filter(([, { verdict }]) => verdict === "accept");
          return accepted.length < 2
            ? act
            : { ...act, votes: Object.fromEntries(entries.filter(([, { verdict }]) => verdict !== "accept")) };
        });
        const [one, other] = [finalOf(attempt, plain), finalOf(attempt, without)];
        assert.deepEqual([one?.answer, one?.shares], [other?.answer, other?.shares]);
      }),
      { numRuns: 100 },
    );
  });
});
