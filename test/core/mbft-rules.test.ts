import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { mbftConfig } from "../../agents/core/protocols/mbft/config.ts";
import { applySlashes } from "../../agents/core/protocols/mbft/rules.ts";
import { voteForm } from "../../agents/core/phases/votes.ts";
import { withSeen } from "../../agents/core/phases/round-book.ts";
import { emptyTally, messagesOf, addMessage, type Tally } from "../../agents/core/seat/tally.ts";
import { tierOf } from "../../agents/core/phases/tiers.ts";
import type { Attempt, Ppm, SeatIndex } from "../../agents/core/types.ts";
import { attemptOf } from "../support/core/committee.ts";
import {
  COMMIT,
  JUDGE,
  REVEAL,
  VOTE,
  accept,
  addRound,
  encodeReveal,
  finalOf,
  put,
  reject,
  roundOf,
  seatsDoing,
  type SeatActs,
} from "../support/core/mbft-set.ts";
import { assertAtLeast, assertFields, assertIncludes, assertWithin } from "../support/assertions.ts";

describe("mbft rules", () => {
  it("MB1: theta exceeds (f + h) tauMax with the largest h, and not with h + 1", () => {
    for (let n = 4; n <= 64; n++) {
      const { theta, faulty, fooled } = mbftConfig(sized(n));
      const bound = (h: number) => BigInt(faulty + h) * 900_000n * 1_000_000n;
      assertAtLeast(fooled, 0);
      assert.equal(theta > bound(fooled), true);
      assert.equal(theta > bound(fooled + 1), false);
    }
  });

  it("MB2: tiers at their exact bounds", () => {
    assert.deepEqual(
      [0, 499_999, 500_000, 799_999, 800_000, 1_000_000].map((ppm) => tierOf(ppm as Ppm)),
      [300_000, 300_000, 700_000, 700_000, 900_000, 900_000],
    );
    assert.equal(tierOf(null), 700_000);
  });

  for (const [phase, name] of [
    [COMMIT, "commitment"],
    [REVEAL, "reveal"],
    [VOTE, "vote"],
  ] as const) {
    it(`MB4: a ${name} counts if more than half of the seats held it in time, and not with half`, () => {
      for (const holders of [3, 4]) {
        const acts = seatsDoing(6, (seat) => ({
          answer: "yes",
          sees: (at, of) => at !== phase || of !== 0 || seat < holders,
        }));
        assert.equal(finalOf(attemptOf(6), acts)?.shares[0], holders === 3 ? 0 : SURE_RIGHT);
      }
    });
  }

  it("MB4: late votes count for nothing, so they cannot make an earlier round decide", () => {
    const attempt = attemptOf(7);
    // Round 0 lacks weight by itself; with the two votes for "no" by seats 5 and 6 it would decide.
    const act = (seat: number, inTime: boolean): SeatActs => ({
      answer: seat < 3 ? "no" : "yes",
      tier: seat < 3 ? 900_000 : 300_000,
      votes: seat > 4 ? { 0: accept } : {},
      sees: (at, of) => inTime || at !== VOTE || of < 5,
    });
    const yes = seatsDoing(7, () => ({ answer: "yes" }));
    const first = (inTime: boolean) =>
      roundOf(
        attempt,
        seatsDoing(7, (seat) => act(seat, inTime)),
      );
    const outcome = (tally: Tally): string | null => {
      const conclusion = mbft.conclude(attempt, tally);
      return conclusion.kind === "final" ? conclusion.outcome.answer : null;
    };
    assert.equal(outcome(first(true)), "no");
    assert.equal(outcome(first(false)), null);
    // PH7: what would decide round 0 now was withheld from those who went on from it.
    for (const inTime of [true, false]) assert.equal(outcome(addRound(first(inTime), attempt, 1, yes)), "yes");
  });

  it("MB9, M25: a leader that equivocates afterwards takes no vote or counter-proof back", () => {
    const attempt = attemptOf(7);
    const acts = seatsDoing(7, (seat) => ({
      ...(seat < 3 ? { answer: "no" } : { answer: "yes", tier: 300_000, votes: { 0: seat === 3 ? reject : accept } }),
      judgements: { "3>0": "uphold" as const },
    }));
    const second = encodeReveal(
      null,
      Array.from({ length: 7 }, () => null),
    );
    const tally = roundOf(attempt, acts);
    // Without the counter-proof "no" would decide; with it, and whatever its leader does then, it does not.
    const unopposed = acts.map((act, seat) => (seat === 3 ? { ...act, votes: {} } : act));
    assert.equal(finalOf(attempt, unopposed)?.answer, "no");
    assert.equal(mbft.conclude(attempt, tally).kind, "open");
    assert.equal(mbft.conclude(attempt, put(tally, attempt, 0, 0, REVEAL, second)).kind, "open");
  });

  it("MB9: a vote that names the outcome of another answer than its reveal shows is about nothing", () => {
    const attempt = attemptOf(7);
    const decided = (about: string): string | undefined =>
      finalOf(
        attempt,
        seatsDoing(7, (seat) =>
          seat < 3 ? { answer: "no" } : { answer: "yes", tier: 300_000, votes: { 0: { ...accept, about } } },
        ),
      )?.answer;
    assert.equal(decided("no"), "no");
    assert.equal(decided("yes"), undefined);
  });

  it("MB4: a proposal that does not open its seat's commitment does not count", () => {
    const attempt = attemptOf(4);
    const acts = seatsDoing(4, () => ({ answer: "yes" }));
    let tally = emptyTally;
    for (const message of messagesOf(roundOf(attempt, acts))) {
      if (message.header.phase !== REVEAL || message.header.seat !== 0) tally = addMessage(tally, message).tally;
      else {
        const payload = message.payload as { proposal: object; seen: (Uint8Array | null)[] };
        tally = put(tally, attempt, 0, 0, REVEAL, {
          ...payload,
          proposal: { ...payload.proposal, answer: "no" } as never,
        });
      }
    }
    const conclusion = mbft.conclude(attempt, tally);
    assert.deepEqual(conclusion.kind === "final" && conclusion.outcome.shares, [0, SURE_RIGHT, SURE_RIGHT, SURE_RIGHT]);
  });

  it("MB5, M07: a rejection without counter-proof is malformed", () => {
    const attempt = attemptOf(4);
    const target = `0x${"11".repeat(32)}` as never;
    const seen = [null, null, null, null];
    const seat = 0 as SeatIndex;
    const vote = (verdict: "reject" | "accept", counterProof: string) =>
      mbft.rejectPayload(
        attempt,
        { round: 0, phase: VOTE, seat },
        withSeen(
          voteForm.encode({ votes: [{ target, outcome: target, verdict, tier: 900_000 as Ppm, counterProof }] }),
          seen,
        ),
      );
    assert.equal(vote("reject", "why"), null);
    assert.equal(vote("reject", ""), "malformed-payload");
    assert.equal(vote("accept", "why"), "malformed-payload");
    const proposal = { answer: "yes", proof: "", tier: 910_000 as Ppm, salt: new Uint8Array(32) };
    assert.equal(
      mbft.rejectPayload(attempt, { round: 0, phase: REVEAL, seat }, encodeReveal(proposal, seen)),
      "malformed-payload",
    );
  });

  it("MB14: commits at equality with theta, not one ppm of reputation below", () => {
    // n = 4: theta = 4 * 0.9 / 2 = 1.8 = 0.9 + 3 * 0.3: two members, and two that accept.
    const acts = seatsDoing(4, (seat) =>
      seat < 2
        ? { votes: { 3: { verdict: "accept", tier: 300_000 } } }
        : { answer: "yes", tier: seat === 3 ? 900_000 : 300_000 },
    );
    assert.equal(finalOf(attemptOf(4), acts)?.status, "decided");
    assert.equal(finalOf(attemptOf(4, {}, [999_999]), acts), null);
  });

  it("M15: an unanimous honest committee commits in round 0, whatever its tier, as far as theta allows", () => {
    for (const n of [4, 5, 7, 10, 31]) {
      const outcome = finalOf(
        attemptOf(n),
        seatsDoing(n, () => ({ answer: "yes", tier: 700_000 })),
      );
      assertFields(outcome, { status: "decided", answer: "yes" });
    }
  });

  for (const vetoers of [1, 2]) {
    it(`M22: ${vetoers} coordinated vetoer(s) of seven do not stall, and are slashed`, () => {
      const refuting: NonNullable<SeatActs["judgements"]> = Object.fromEntries(
        seatsDoing(vetoers, () => ({})).map((_, author) => [`${author}>6`, "refute" as const]),
      );
      // Four of seven are too few to be counted: seats 3 to 6 hold the truth, and those besides have no answer.
      const acts = seatsDoing(7, (seat) => {
        if (seat < vetoers) return { answer: "no", votes: { 6: reject } };
        return seat < 3
          ? { votes: { 0: reject }, judgements: refuting }
          : { answer: "yes", votes: { 0: reject }, judgements: refuting };
      });
      const outcome = finalOf(attemptOf(7), acts);
      assertFields(outcome, { status: "decided", answer: "yes" });
      assertIncludes(
        outcome?.reputationChanges.map(({ seat }) => seat),
        0,
      );
    });
  }

  it("MB13: an upheld counter-proof of an untouched author vetoes; of a slashed author it only subtracts", () => {
    const acts = seatsDoing(7, (seat) => {
      if (seat === 0) return { answer: "no", votes: { 6: reject } };
      const judgements = seat < 5 ? ({ "0>6": "uphold" } as const) : {};
      return seat < 3 ? { votes: { 6: accept }, judgements } : { answer: "yes", judgements };
    });
    assert.equal(finalOf(attemptOf(7), acts), null);
    assertFields(finalOf(attemptOf(7, {}, [999_999]), acts), { status: "decided", answer: "yes" });
  });

  it("MB11, M21: exactly half upholds, exactly two thirds refutes: both are dismissed", () => {
    const base = (verdict: "uphold" | "refute", judges: number) =>
      seatsDoing(6, (seat) => {
        if (seat === 0) return { answer: "no", tier: 700_000, votes: { 5: reject } };
        const judgements = seat <= judges ? { "0>5": verdict } : {};
        return seat < 3 ? { votes: { 5: accept }, judgements } : { answer: "yes", judgements };
      });
    assertFields(finalOf(attemptOf(6), base("uphold", 3)), { status: "decided", answer: "yes" });
    assert.equal(finalOf(attemptOf(6), base("uphold", 4)), null);
    assert.deepEqual(finalOf(attemptOf(6), base("refute", 4))?.reputationChanges, []);
    assert.deepEqual(finalOf(attemptOf(6), base("refute", 5))?.reputationChanges, [{ seat: 0, steps: -1 }]);
  });

  it("MB11: an author cannot uphold its own counter-proof", () => {
    const acts = seatsDoing(6, (seat) => {
      const judgements = seat < 4 ? ({ "0>5": "uphold" } as const) : {};
      if (seat === 0) return { answer: "no", votes: { 5: reject }, judgements };
      return seat < 3 ? { votes: { 5: accept }, judgements } : { answer: "yes", judgements };
    });
    assertFields(finalOf(attemptOf(6), acts), { status: "decided" });
  });

  it("one honest but wrong low-tier agent does not veto nine", () => {
    const acts = seatsDoing(10, (seat) =>
      seat === 0
        ? { answer: "no", tier: 300_000, votes: { 9: { verdict: "reject", tier: 300_000 } } }
        : { answer: "yes", judgements: { "0>9": "refute" } },
    );
    assertFields(finalOf(attemptOf(10), acts), { status: "decided", answer: "yes" });
  });

  it("M23: a seat that accuses and then proposes the truth ends below the seats it accused", () => {
    const acts = seatsDoing(4, (seat) => (seat === 3 ? { answer: "yes", votes: {} } : { answer: "yes" }));
    const honestRound = finalOf(attemptOf(4), acts);
    assert.deepEqual(honestRound?.reputationChanges, []);
    // The accuser must hold another answer to reject the class; its refuted counter-proof costs it, the accused nothing.
    const accusing = seatsDoing(4, (seat) => {
      if (seat === 3) return { answer: "no", votes: { 0: reject } };
      const judgements = { "3>0": "refute" } as const;
      return seat === 2 ? { votes: { 0: accept }, judgements } : { answer: "yes", judgements };
    });
    assert.deepEqual(finalOf(attemptOf(4), accusing)?.reputationChanges, [{ seat: 3, steps: -1 }]);
  });

  it("MB12: high assurance needs more than two thirds of the seats", () => {
    const acts = seatsDoing(6, (seat) => (seat < 4 ? { answer: "yes" } : {}));
    assertFields(finalOf(attemptOf(6), acts), { status: "decided" });
    assert.equal(finalOf(attemptOf(6, { assurance: "high" }), acts), null);
    assertFields(
      finalOf(
        attemptOf(6, { assurance: "high" }),
        seatsDoing(6, (seat) => (seat < 5 ? { answer: "yes" } : {})),
      ),
      { status: "decided" },
    );
  });

  it("MB6: f loud seats with an answer each do not crowd out the answer of many", () => {
    const n = 31;
    const acts = seatsDoing(n, (seat) => {
      if (seat < 10) return { answer: String(100 + seat) };
      // One is missing to those that the count would decide.
      return seat === 10 ? {} : { answer: "65", tier: 700_000 };
    });
    assert.equal(finalOf(attemptOf(n, { kind: "number" }), acts)?.answer, "65");
  });

  it("MB15: incomplete rounds are open; three complete rounds without a winner are Hung", () => {
    const attempt = attemptOf(4);
    const split = seatsDoing(4, (seat) => ({ answer: seat < 2 ? "yes" : "no" }));
    const two = addRound(roundOf(attempt, split), attempt, 1, split);
    assert.equal(mbft.conclude(attempt, two).kind, "open");
    const third = addRound(
      two,
      attempt,
      2,
      seatsDoing(4, (seat) => (seat < 2 ? { ...split[seat], silent: true } : (split[seat] as SeatActs))),
    );
    assert.equal(mbft.conclude(attempt, third).kind, "open");
    const conclusion = mbft.conclude(attempt, addRound(two, attempt, 2, split));
    assertFields(conclusion.kind === "final" && conclusion.outcome, { status: "hung", answer: "", confidence: 0 });
    if (conclusion.kind === "final") assert.deepEqual(conclusion.outcome.shares, [1, 1, 1, 1]);
  });

  it("MB3, MB16: a void slot counts for nothing and is slashed", () => {
    const attempt = attemptOf(4);
    const tally = put(
      roundOf(
        attempt,
        seatsDoing(4, () => ({ answer: "yes" })),
      ),
      attempt,
      0,
      2,
      JUDGE,
      { judgements: [], extra: 1 },
    );
    const twice = put(tally, attempt, 0, 2, REVEAL, encodeReveal(null, [null, null, null, null]));
    const conclusion = mbft.conclude(attempt, twice);
    assert.deepEqual(conclusion.kind === "final" && conclusion.outcome.reputationChanges, [{ seat: 2, steps: -1 }]);
    assert.deepEqual(conclusion.kind === "final" && conclusion.outcome.shares, [SURE_RIGHT, SURE_RIGHT, 0, SURE_RIGHT]);
  });

  it("MB17: seats that took part recover from earlier slashes, and no other seats", () => {
    const outcome = finalOf(
      attemptOf(4, {}, [500_000, 500_000]),
      seatsDoing(4, (seat) => (seat === 1 ? {} : { answer: "yes" })),
    );
    assert.deepEqual(outcome?.reputationChanges, [{ seat: 0, steps: 1 }]);
  });

  it("concludes the same whatever the order of arrival", () => {
    const verdict = fc.constantFrom("accept", "reject", "abstain" as const);
    const tier = fc.constantFrom(300_000, 700_000, 900_000);
    const act = fc.record({
      answer: fc.constantFrom("yes", "no"),
      tier,
      votes: fc.dictionary(fc.constantFrom("0", "1", "2", "3", "4"), fc.record({ verdict, tier })),
      judgements: fc.dictionary(
        fc.constantFrom("0>1", "1>2", "2>3", "3>4", "4>0"),
        fc.constantFrom("uphold", "refute", "abstain" as const),
      ),
    });
    fc.assert(
      fc.property(
        fc.array(act, { minLength: 5, maxLength: 5 }),
        fc.array(fc.nat(), { minLength: 20, maxLength: 20 }),
        (acts, shuffle) => {
          const attempt = attemptOf(5);
          const tally = roundOf(attempt, acts);
          const messages = [...messagesOf(tally)];
          const shuffled = messages
            .map((message, index) => ({ message, key: shuffle[index % 20] as number }))
            .toSorted((a, b) => a.key - b.key);
          const other = shuffled.reduce((sum, { message }) => addMessage(sum, message).tally, emptyTally);
          assert.deepEqual(mbft.conclude(attempt, other), mbft.conclude(attempt, tally));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("M14, M18: a class needs both enough weight and enough support to be decided, or more than 2/3 of the seats", () => {
    const act = fc.record({ answer: fc.constantFrom("yes", "no"), tier: fc.constantFrom(300_000, 700_000, 900_000) });
    fc.assert(
      fc.property(fc.array(act, { minLength: 7, maxLength: 7 }), (acts) => {
        const outcome = finalOf(attemptOf(7), acts);
        const weight = (answer: string) =>
          acts.filter((one) => one.answer === answer).reduce((sum, one) => sum + one.tier, 0);
        const members = (answer: string) => acts.filter((one) => one.answer === answer).length;
        const may = (answer: string) => members(answer) >= 5 || (weight(answer) >= 3_150_000 && members(answer) >= 4);
        assert.equal(outcome === null, !may("yes") && !may("no"));
        if (outcome !== null) assert.equal(may(outcome.answer), true);
      }),
      { numRuns: 200 },
    );
  });

  it("M16: a slash lowers a reputation down to 1 ppm, and nothing raises one within a decision", () => {
    const reputation = fc.integer({ min: 1, max: 1_000_000 });
    fc.assert(
      fc.property(reputation, fc.integer({ min: 0, max: 12 }), (before, slashes) => {
        const [after] = applySlashes([before as Ppm], [slashes]);
        if (slashes === 0) assert.equal(after, before);
        else assertWithin(after, 1, Math.max(1, before - 1));
      }),
    );
  });
});

function sized(n: number): Attempt {
  const one = attemptOf(4).committee[0]!;
  return { ...attemptOf(4), committee: Array.from({ length: n }, () => one) };
}
