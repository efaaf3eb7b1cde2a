import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { moved } from "../support/memory-chain/rules.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { limits } from "../../agents/core/limits.ts";
import { faultTolerance, isSupermajority } from "../../agents/core/quorum.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { mbftConfig } from "../../agents/core/protocols/mbft/config.ts";
import { judgeForm } from "../../agents/core/protocols/mbft/payloads.ts";
import { evaluateRound, leaderOrder } from "../../agents/core/protocols/mbft/rules.ts";
import { candidatesOf, commitForm, revealForm, type Candidate } from "../../agents/core/phases/proposals.ts";
import { withSeen, type RoundBook } from "../../agents/core/phases/round-book.ts";
import { voteForm } from "../../agents/core/phases/votes.ts";
import { emptyTally, roundSlots, type Tally } from "../../agents/core/seat/tally.ts";
import type { Attempt, Outcome, Ppm, SeatIndex } from "../../agents/core/types.ts";
import { addRound, attemptFor, type SeatActs } from "../support/message-set.ts";
import { assertAbove, assertAtLeast, assertAtMost, assertFields } from "../support/assertions.ts";

const HIGH = 900_000;
const tiers = fc.constantFrom(300_000, 700_000, 900_000);
const quiet: Omit<SeatActs, "answer"> = { tier: HIGH, votes: [], judgements: [] };

function tallyOf(attempt: Attempt, acts: readonly SeatActs[], rounds = 1): Tally {
  let tally = emptyTally;
  for (let round = 0; round < rounds; round++) tally = addRound(tally, attempt, round, acts);
  return tally;
}

function concluded(attempt: Attempt, acts: readonly SeatActs[], rounds = 1): Outcome | null {
  const conclusion = mbft.conclude(attempt, tallyOf(attempt, acts, rounds));
  return conclusion.kind === "final" ? conclusion.outcome : null;
}

/** The weight of the heaviest answer of the first round, in seats that are certain. */
function weightOf(attempt: Attempt, acts: readonly SeatActs[]): number {
  const plan = { forms: [commitForm, revealForm, voteForm, judgeForm], partial: new Set<number>() };
  const book: RoundBook = { attempt, round: 0, plan, slots: roundSlots(tallyOf(attempt, acts), 0) };
  const reputations = attempt.committee.map(({ reputation }) => reputation);
  const { classes } = evaluateRound(book, mbftConfig(attempt), reputations, candidatesOf(book, "closed"));
  return Number(classes[0]?.sum) / 1e12;
}

const unanimous = (n: number, tier = HIGH): readonly SeatActs[] =>
  Array.from({ length: n }, () => ({ ...quiet, answer: "yes", tier }));

describe("mbft mechanisms", () => {
  it("M01, M02: a tier that is not on the ladder makes the message malformed", () => {
    const attempt = attemptFor(mbft.code, 4, "normal");
    const slot = { phase: revealForm.phase, round: 0, seat: 0 as SeatIndex };
    const refusal = (tier: number) => {
      const body = { proposal: { answer: "yes", proof: "", tier, salt: new Uint8Array(32) } };
      return mbft.rejectPayload(attempt, slot, withSeen(body, [null, null, null, null]));
    };
    for (const tier of [300_000, 700_000, 900_000]) assert.equal(refusal(tier), null);
    for (const tier of [0, 1, 299_999, 900_001, 1_000_000, -300_000, 0.9, NaN, Infinity])
      assert.equal(refusal(tier), "malformed-payload");
  });

  it("M03: reputation starts at 1, is never 0, and a slash is a factor below 1", () => {
    assert.equal(moved(1_000_000 as Ppm, -1), 800_000);
    assert.equal(moved(1_000_000 as Ppm, 1), 1_000_000);
    let rho = 1_000_000 as Ppm;
    for (let slash = 0; slash < 100; slash++) rho = moved(rho, -3);
    assertAbove(rho, 0);
  });

  it("M04, M05: leader = argmax rho tau; ties by the canonical order, whatever the order of the list", () => {
    const seat = fc.record({ tier: tiers, rho: fc.constantFrom(500_000, 800_000, 1_000_000) });
    fc.assert(
      fc.property(fc.array(seat, { minLength: 4, maxLength: 10 }), (seats) => {
        const reputations = seats.map(({ rho }) => rho as Ppm);
        const attempt = attemptFor(mbft.code, seats.length, "normal", reputations);
        const candidates = seats.map(({ tier }, index): Candidate => {
          const answer = { text: "yes", outcome: digestOf("yes") };
          return { seat: index as SeatIndex, target: digestOf(index), answer, proof: "", tier: tier as Ppm };
        });
        const [leader] = leaderOrder(attempt, reputations, candidates);
        assert.equal(leaderOrder(attempt, reputations, candidates.toReversed())[0], leader);
        const weights = seats.map(({ tier, rho }) => tier * rho);
        const best = canonicalOrder(attempt).find((index) => weights[index] === Math.max(...weights));
        assert.equal(leader?.seat, best);
      }),
      { numRuns: 100 },
    );
  });

  it("M06, M08: accept adds rho tau, a dismissed counter-proof and silence add 0, the leader's own weight counts", () => {
    const attempt = attemptFor(mbft.code, 4, "normal");
    // theta = 1.8: the leader's .9 and one accept of .9 reach it, in a class of two of three supporters.
    const acts = (third: SeatActs["votes"]): readonly SeatActs[] => [
      { ...quiet, answer: "yes" },
      { ...quiet, answer: "yes", tier: 300_000 },
      { ...quiet, answer: null, votes: third },
      { ...quiet, answer: null },
    ];
    const vote = (verdict: "accept" | "reject", tier: number) => [{ accused: 0, verdict, tier }];
    assert.equal(weightOf(attempt, acts(vote("accept", 700_000))), 1.9);
    assert.equal(concluded(attempt, acts(vote("accept", 700_000)))?.answer, "yes");
    assert.equal(weightOf(attempt, acts(vote("reject", 900_000))), 1.2);
    assert.equal(concluded(attempt, acts(vote("accept", 300_000))), null);
    assert.equal(concluded(attempt, acts(vote("reject", 900_000))), null);
    assert.equal(concluded(attempt, acts([])), null);
  });

  it("M14: f Byzantine seats and h fooled verifiers, h as stated, never commit an unsound proposal (n = 4..13)", () => {
    const sized = fc.integer({ min: 4, max: 13 }).chain((n) =>
      fc.record({
        n: fc.constant(n),
        fooled: fc.integer({ min: 0, max: Math.max(0, Math.ceil(n / 2) - 1 - faultTolerance(n)) }),
        honest: fc.constantFrom("yes", null),
        assurance: fc.constantFrom("normal" as const, "high" as const),
      }),
    );
    fc.assert(
      fc.property(sized, ({ n, fooled, honest, assurance }) => {
        const attempt = attemptFor(mbft.code, n, assurance);
        assertAtMost(fooled, mbftConfig(attempt).fooled);
        const acts = Array.from({ length: n }, (_, seat): SeatActs => {
          if (seat < faultTolerance(n)) return { ...quiet, answer: "no" };
          const accepts = seat < faultTolerance(n) + fooled;
          return { ...quiet, answer: honest, votes: accepts ? [{ accused: 0, verdict: "accept", tier: HIGH }] : [] };
        });
        assert.notEqual(concluded(attempt, acts)?.answer, "no");
      }),
      { numRuns: 200 },
    );
  });

  it("M17: unanimous and of equal tier: the committed weight does not fall when n grows", () => {
    let before = 0;
    for (let n = 4; n <= 31; n++) {
      const sum = weightOf(attemptFor(mbft.code, n, "normal"), unanimous(n, 700_000));
      assertAtLeast(sum, before);
      before = sum;
    }
  });

  it("M19: without agreement the attempt ends after the last of R rounds as a typed Hung, without a value", () => {
    const attempt = attemptFor(mbft.code, 4, "normal");
    const split = unanimous(4).map((act, seat) => (seat < 2 ? act : { ...act, answer: "no" }));
    for (let rounds = 1; rounds < limits.deliberationRounds; rounds++)
      assert.equal(concluded(attempt, split, rounds), null);
    assertFields(concluded(attempt, split, limits.deliberationRounds), {
      status: "hung",
      answer: "",
      confidence: 0,
    });
  });

  it("M24: honest seats that were slashed below theta's reach come back above it by completing decisions", () => {
    // Seven seats, each slashed four times: .8^4 = .41 < 1/2, so that all of them together lack weight. Four answer, too few for the count.
    const slashed = moved(moved(1_000_000 as Ppm, -3), -1);
    const decide = (rho: Ppm): Outcome | null =>
      concluded(
        attemptFor(
          mbft.code,
          7,
          "normal",
          Array.from({ length: 7 }, () => rho),
        ),
        unanimous(7).map((act, seat) =>
          seat < 4 ? act : { ...act, answer: "no", votes: [{ accused: 0, verdict: "accept", tier: HIGH }] },
        ),
        limits.deliberationRounds,
      );
    assert.equal(decide(slashed)?.status, "hung");
    let rho = slashed;
    let decisions = 0;
    while (decide(rho)?.status !== "decided" && decisions < 100) {
      const steps = decide(rho)?.reputationChanges.find(({ seat }) => seat === 0)?.steps ?? 0;
      assert.equal(steps, 1);
      rho = moved(rho, steps);
      decisions += 1;
    }
    assert.deepEqual([slashed, rho, decisions], [409_600, 509_600, 10]);
  });

  it("M26: two quorums of more than 2/3 share more seats than may be Byzantine (n = 4..64)", () => {
    for (let n = 4; n <= limits.maxCommittee; n++) {
      const quorum = Array.from({ length: n }, (_, index) => index + 1).find((count) => isSupermajority(count, n))!;
      assertAbove(2 * quorum - n, faultTolerance(n));
    }
  });
});
