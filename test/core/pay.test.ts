import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { outcomeFrom } from "../../agents/core/phases/outcome.ts";
import {
  SAFE_RIGHT,
  SURE_RIGHT,
  SURE_WRONG,
  scoreOf,
  type BlindAnswer,
  type Overdue,
} from "../../agents/core/phases/pay.ts";
import { commitForm, revealForm } from "../../agents/core/phases/proposals.ts";
import { TIERS, TIER_MAX, tierOf } from "../../agents/core/phases/tiers.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { council } from "../../agents/core/protocols/council.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import {
  ABSENT,
  ONE_PPM,
  type Attempt,
  type Outcome,
  type Ppm,
  type SeatIndex,
  type Terms,
} from "../../agents/core/types.ts";
import { assertAbove, assertAtMost, assertFields } from "../support/assertions.ts";
import { attemptOf, runCommittee, type SeatScript } from "../support/core/committee.ts";
import { roundOf, type SeatActs } from "../support/core/mbft-set.ts";
import { believing, byRank, taskOf } from "../support/core/council-scripts.ts";

/** The most of an honest seat's share that a seat without a model may earn. */
const AT_MOST = 1 / 10;

const [LOW, MEDIUM] = TIERS as readonly [Ppm, Ppm];
const belief = fc.integer({ min: 0, max: ONE_PPM }).map((ppm) => ppm as Ppm);

/** The expected score at a tier of an answer that is right with this probability. */
function expected(tier: Ppm, right: Ppm): number {
  return (right * scoreOf(tier, ONE_PPM) + (ONE_PPM - right) * scoreOf(tier, 0 as Ppm)) / ONE_PPM;
}

function answerOf(attempt: Attempt, seat: number, text: string, tier: Ppm = TIER_MAX): BlindAnswer {
  return { seat: seat as SeatIndex, answer: canonicalAnswer(attempt.request, text)!, tier };
}

/** The outcome if "yes", or another answer, is decided and every seat did all that was asked. */
function outcomeFor(
  attempt: Attempt,
  answers: readonly BlindAnswer[],
  decided: string | null = "yes",
  {
    overdue = [],
    slashes = attempt.committee.map(() => 0),
    fewBlind = false,
  }: { overdue?: readonly Overdue[]; slashes?: readonly number[]; fewBlind?: boolean } = {},
): Outcome {
  const answer = decided === null ? null : canonicalAnswer(attempt.request, decided);
  return outcomeFrom(attempt, {
    winner: answer && { answer, alike: [], confidence: ONE_PPM },
    blind: { answers, overdue },
    slashes,
    completed: attempt.committee.map((_, seat) => seat as SeatIndex),
    fewBlind,
  });
}

describe("pay: the score", () => {
  it("PY3: no tier has a greater expected score than that of the true belief", () => {
    fc.assert(
      fc.property(belief, (right) => {
        for (const tier of TIERS) assertAtMost(expected(tier, right), expected(tierOf(right), right) + 1e-9);
      }),
    );
  });

  it("PY3: whoever is sure by more than the bound of the top tier gains by saying so, and loses by it below", () => {
    fc.assert(
      fc.property(belief, (right) => {
        const gain = expected(TIER_MAX, right) - expected(MEDIUM, right);
        assert.equal(Math.sign(Math.round(gain * 1e6)), Math.sign(right - 800_000), `${right}`);
      }),
    );
  });

  it("PY3: no tier makes it pay to answer otherwise than one believes", () => {
    fc.assert(
      fc.property(belief, belief, fc.constantFrom(...TIERS), (a, b, tier) => {
        if (a < b) assertAtMost(expected(tier, a), expected(tier, b));
      }),
    );
  });

  it("PY3: a coin scores a small part of what a seat earns that is right nine times in ten, and loses at the top tier", () => {
    const [coin, honest] = [500_000 as Ppm, 900_000 as Ppm];
    for (const tier of [LOW, MEDIUM]) assertAtMost(expected(tier, coin), AT_MOST * 0.9 * SURE_RIGHT);
    assert.equal(expected(TIER_MAX, coin), (SURE_RIGHT + SURE_WRONG) / 2);
    assertAbove(0, expected(TIER_MAX, coin));
    assertAbove(expected(TIER_MAX, honest), expected(MEDIUM, honest));
  });

  it("PY4, PY6: shares fit a byte, whatever a seat says; nothing but a right answer earns, and all earn alike if none does", () => {
    const kinds: readonly (readonly [Partial<Terms>, readonly string[]])[] = [
      [{ kind: "boolean" }, ["yes", "no"]],
      [{ kind: "policies", options: 4 }, ["A", "A,B", "B,C,D", "C"]],
    ];
    const world = fc.constantFrom(...kinds).chain(([terms, texts]) => {
      const said = fc.record({ text: fc.constantFrom(...texts), tier: fc.constantFrom(...TIERS) });
      return fc.record({
        terms: fc.constant(terms),
        decided: fc.constantFrom(...texts),
        said: fc.array(fc.option(said), { minLength: 7, maxLength: 7 }),
      });
    });
    fc.assert(
      fc.property(world, ({ terms, decided, said }) => {
        const attempt = attemptOf(7, terms);
        const blind = said.flatMap((one, seat) => (one ? [answerOf(attempt, seat, one.text, one.tier)] : []));
        const { shares, reputationChanges } = outcomeFor(attempt, blind, decided);
        const isAlike = Math.max(...shares) === 1;
        for (const [seat, share] of isAlike ? [] : shares.entries()) {
          assert.equal(Number.isInteger(share) && share >= 0 && share <= SURE_RIGHT, true);
          if (said[seat] === null) assert.equal(share, 0);
          if (said[seat]?.text === decided) assert.equal(share, said[seat].tier === TIER_MAX ? SURE_RIGHT : SAFE_RIGHT);
        }
        const right = said.filter((one) => one?.text === decided).length;
        if (3 * right > said.length) assert.equal(isAlike, false);
        assert.deepEqual(outcomeFor(attempt, blind.toReversed(), decided), outcomeFor(attempt, blind, decided));
        assertAbove(Math.max(...shares), 0);
        for (const { seat, steps } of reputationChanges) assert.deepEqual([steps, isAlike ? 0 : shares[seat]], [-1, 0]);
      }),
    );
  });

  it("PY5: who was wrong when sure loses a step, if more than 2/3 of the seats were right; who was unsure loses none", () => {
    const attempt = attemptOf(6);
    const outcome = (right: number, tier: Ppm) =>
      outcomeFor(
        attempt,
        attempt.committee.map((_, seat) => answerOf(attempt, seat, seat < right ? "yes" : "no", tier)),
      );
    assert.deepEqual(outcome(5, TIER_MAX).reputationChanges, [{ seat: 5, steps: -1 }]);
    assert.deepEqual(outcome(4, TIER_MAX).reputationChanges, []);
    assert.deepEqual(outcome(5, MEDIUM).reputationChanges, []);
    assert.deepEqual(outcome(5, LOW).shares, [...Array<number>(5).fill(SAFE_RIGHT), 0]);
  });

  it("PY5: a decision at the edge of the tolerance takes no reputation from a seat that most others agree with", () => {
    const attempt = attemptOf(4, { kind: "number", tolerance: 1n });
    const blind = ["10", "11", "11", "12"].map((text, seat) => answerOf(attempt, seat, text, TIER_MAX));
    assertFields(outcomeFor(attempt, blind, "12"), {
      shares: [0, SURE_RIGHT, SURE_RIGHT, SURE_RIGHT],
      reputationChanges: [],
    });
    const alone = ["9", "11", "11", "12"].map((text, seat) => answerOf(attempt, seat, text, TIER_MAX));
    assert.deepEqual(outcomeFor(attempt, alone, "12").reputationChanges, [{ seat: 0, steps: -1 }]);
  });

  it("PY6: a Hung attempt pays blind answers alike, and who earns recovers; and so do those who answered where nobody was right", () => {
    const attempt = attemptOf(4, {}, [500_000, 500_000, 500_000, 500_000]);
    const blind = [answerOf(attempt, 0, "yes"), answerOf(attempt, 2, "no", LOW)];
    const recovered = (...seats: readonly number[]) => seats.map((seat) => ({ seat, steps: 1 }));
    assertFields(outcomeFor(attempt, blind, null), { shares: [1, 0, 1, 0], reputationChanges: recovered(0, 2) });
    // One of four was right: all that answered. One answered, or none: all.
    assertFields(outcomeFor(attempt, blind), { shares: [1, 0, 1, 0], reputationChanges: recovered(0, 2) });
    const all = { shares: [1, 1, 1, 1], reputationChanges: recovered(0, 1, 2, 3) };
    assertFields(outcomeFor(attempt, blind.slice(1)), all);
    assertFields(outcomeFor(attempt, blind.slice(0, 1)), all);
    assertFields(outcomeFor(attempt, blind.slice(1), null), all);
    assertFields(outcomeFor(attempt, [], null), all);
    const two = [0, 2].map((seat) => answerOf(attempt, seat, "yes"));
    assertFields(outcomeFor(attempt, two), {
      shares: [SURE_RIGHT, 0, SURE_RIGHT, 0],
      reputationChanges: recovered(0, 2),
    });
  });

  it("PY6: two of seven that are right have no score but where few answer blind; there nobody earns if none is right", () => {
    const attempt = attemptOf(7);
    const blind = [answerOf(attempt, 0, "yes"), answerOf(attempt, 1, "no"), answerOf(attempt, 2, "no")];
    const sharesOf = (decided: string | null, fewBlind: boolean) =>
      outcomeFor(attempt, blind, decided, { fewBlind }).shares;
    const alike = [1, 1, 1, 0, 0, 0, 0];
    assert.deepEqual(sharesOf("yes", false), alike);
    assert.deepEqual(sharesOf("yes", true), [SURE_RIGHT, 0, 0, 0, 0, 0, 0]);
    assert.deepEqual(sharesOf("no", false), alike);
    assert.deepEqual(sharesOf("no", true), [0, SURE_RIGHT, SURE_RIGHT, 0, 0, 0, 0]);
    assert.deepEqual(sharesOf(null, true), alike);
    const wrong = blind.slice(1);
    assert.deepEqual(outcomeFor(attempt, wrong, "yes", { fewBlind: true }).shares, Array(7).fill(0));
    assert.deepEqual(outcomeFor(attempt, wrong, "yes").shares, Array(7).fill(1));
  });

  it("PY6: a text that nobody answered blind in these words pays blind answers alike; no request of texts is free", () => {
    const attempt = attemptOf(4, { kind: "text" });
    const blind = [answerOf(attempt, 0, "Paris"), answerOf(attempt, 2, "Rome")];
    assert.deepEqual(outcomeFor(attempt, blind, "The city of Paris").shares, [1, 0, 1, 0]);
    assert.deepEqual(outcomeFor(attempt, blind, "Paris").shares, [1, 0, 1, 0]);
    assert.deepEqual(outcomeFor(attempt, [blind[0]!, answerOf(attempt, 1, "Paris")], "Paris").shares, [240, 240, 0, 0]);
  });
});

describe("pay: commitments without their reveal", () => {
  const fallen = (...seats: readonly number[]) => seats.map((seat) => ({ seat, steps: -1 }));
  const answersOf = (attempt: Attempt, texts: readonly string[]) =>
    texts.map((text, seat) => answerOf(attempt, seat, text));

  it("PY10: whoever never shows what it committed to falls, if more than 2/3 of the seats were right", () => {
    const attempt = attemptOf(6);
    const changes = (texts: readonly string[], decided: string | null = "yes") =>
      outcomeFor(attempt, answersOf(attempt, texts), decided, { overdue: [{ seat: 5 as SeatIndex, late: null }] })
        .reputationChanges;
    assert.deepEqual(changes(["yes", "yes", "yes", "yes", "yes"]), fallen(5));
    assert.deepEqual(changes(["yes", "yes", "yes", "yes", "no"]), []);
    assert.deepEqual(changes(["yes", "yes", "yes", "yes", "yes"], null), []);
  });

  it("PY10: an answer that is shown too late earns nothing, and costs what it would have cost in time", () => {
    const attempt = attemptOf(4);
    const outcome = (text: string, tier: Ppm) => {
      const { answer } = answerOf(attempt, 3, text);
      const overdue = [{ seat: 3 as SeatIndex, late: { answer, tier } }];
      const { shares, reputationChanges } = outcomeFor(attempt, answersOf(attempt, ["yes", "yes", "yes"]), "yes", {
        overdue,
      });
      assert.equal(shares[3], 0);
      return reputationChanges;
    };
    assert.deepEqual(outcome("no", TIER_MAX), fallen(3));
    for (const [text, tier] of [
      ["yes", TIER_MAX],
      ["no", MEDIUM],
      ["no", LOW],
    ] as const)
      assert.deepEqual(outcome(text, tier), [], `${text} ${tier}`);
  });

  it("PY10: a slashed seat loses what the slash takes, and nothing besides", () => {
    const attempt = attemptOf(4);
    const overdue = [{ seat: 3 as SeatIndex, late: null }];
    const { reputationChanges } = outcomeFor(attempt, answersOf(attempt, ["yes", "yes", "yes"]), "yes", {
      overdue,
      slashes: [0, 0, 0, 2],
    });
    assert.deepEqual(reputationChanges, [{ seat: 3, steps: -2 }]);
  });

  it("PY10: nobody gains by hiding an answer, or by showing it late, whatever it and the others say", () => {
    const said = fc.record({ text: fc.constantFrom("yes", "no"), tier: fc.constantFrom(...TIERS) });
    fc.assert(
      fc.property(fc.array(said, { minLength: 7, maxLength: 7 }), fc.constantFrom("yes", "no"), (acts, decided) => {
        const attempt = attemptOf(7);
        const all = acts.map(({ text, tier }, seat) => answerOf(attempt, seat, text, tier));
        const [own, others] = [all[6]!, all.slice(0, 6)];
        const lossOf = ({ reputationChanges }: Outcome) => reputationChanges.find(({ seat }) => seat === 6)?.steps ?? 0;
        const told = outcomeFor(attempt, all, decided);
        const late = outcomeFor(attempt, others, decided, { overdue: [{ seat: own.seat, late: own }] });
        const hidden = outcomeFor(attempt, others, decided, { overdue: [{ seat: own.seat, late: null }] });
        assert.deepEqual([late.shares[6], hidden.shares[6]], [0, 0]);
        // Who is right and shows it late loses pay, and nothing else.
        assert.equal(lossOf(late), lossOf(told));
        assertAtMost(lossOf(hidden), lossOf(told));
        // PY6: the others earn alike where too few of them were right.
        const isKnown = told.shares.slice(0, 6).filter((share) => share > 1).length > 2;
        const sharesOfRest = isKnown ? told.shares.slice(0, 6) : Array<number>(6).fill(1);
        for (const { shares } of [late, hidden]) assert.deepEqual(shares.slice(0, 6), sharesOfRest);
      }),
    );
  });

  const three = { answer: "yes" } as const;
  it("PY10: mbft: a hidden answer costs a step, also if too few saw its commitment for it to have counted", () => {
    const attempt = attemptOf(4);
    for (const sees of [() => true, (phase: number, seat: number) => phase !== commitForm.phase || seat !== 3]) {
      const acts = [{ ...three, sees }, { ...three, sees }, three, { answer: "no", hides: true }];
      const { reputationChanges, shares } = outcomeIn(attempt, acts);
      assert.deepEqual([reputationChanges, shares[3]], [fallen(3), 0]);
    }
    assert.deepEqual(outcomeIn(attempt, [three, three, three, {}]).reputationChanges, []);
  });

  it("PY10: mbft: a reveal that f seats overlook costs an honest seat nothing but its pay", () => {
    const attempt = attemptOf(4);
    const late = (phase: number, seat: number) => phase !== revealForm.phase || seat !== 3;
    const acts = (answer: string) => [...[three, three, three].map((act) => ({ ...act, sees: late })), { answer }];
    const right = outcomeIn(attempt, acts("yes"));
    assert.deepEqual([right.reputationChanges, right.shares[3]], [[], 0]);
    assert.deepEqual(outcomeIn(attempt, acts("no")).reputationChanges, fallen(3));
  });

  for (const protocol of protocols)
    it(`PY10: ${protocol.id}: who stops after its commitment falls where more than 2/3 of the seats answer blind`, () => {
      const attempt = attemptOf(4, { protocol: protocol.code });
      for (const seat of [0, 1, 2, 3]) {
        let stopped = false;
        const stopping: SeatScript = {
          ...believing("yes"),
          // Nor does it show what it has not said when the others certify without it.
          hoards: true,
          say: (effect) => {
            // Phase 1 is COMMIT, or hashgraph's events, whose later stages show answers.
            stopped ||= effect.phase > commitForm.phase || stageOf(effect.payload) > 0;
            return stopped ? [] : [effect];
          },
        };
        const scripts = attempt.committee.map((_, at) => (at === seat ? stopping : believing("yes", `steps of ${at}`)));
        const { decision } = runCommittee(protocol, attempt, scripts).certificates.find((one) => one !== null)!;
        assert.equal(decision.answer, "yes");
        const few = ["leaderless", "adversarial"].includes(protocol.id);
        // PY9: of these, a seat that others do not wait for in the first phase has said nothing when it stops.
        const stays = few && decision.shares[seat] !== ABSENT;
        assert.deepEqual(decision.reputationChanges, stays ? [] : fallen(seat), `seat ${seat}`);
      }
    });
});

/** The stage of the record in an event of hashgraph; 0 for any other payload. */
function stageOf(payload: unknown): number {
  return (payload as { readonly record?: { readonly stage: number } | null }).record?.stage ?? 0;
}

/** The outcome of one round of mbft. */
function outcomeIn(attempt: Attempt, acts: readonly SeatActs[]): Outcome {
  const conclusion = mbft.conclude(attempt, roundOf(attempt, acts));
  assert.equal(conclusion.kind, "final");
  return (conclusion as { readonly outcome: Outcome }).outcome;
}

/**
 * A seat without a model: its first answer is a guess at some confidence, and then it says what most said. Where several samples are
 * asked for, whose agreement is the confidence (CL2), it gives one.
 */
function echoing(guess: string, most: string, confidence: number): SeatScript {
  const echo = believing(most);
  return {
    answer: (ask) => {
      if (taskOf(ask.prompt) !== "propose") return echo.answer(ask);
      return /propose\.[12]$/.test(ask.ask) ? null : { ...believing(guess).answer(ask)!, confidence };
    },
  };
}

describe("H3: a seat without a model", () => {
  it("MB18: mbft: two of seven that guessed wrong, then accepted what most answered, earn nothing", () => {
    const attempt = attemptOf(7);
    const acts = attempt.committee.map((_, seat): SeatActs => {
      if (seat >= 5) return { answer: "no", tier: LOW, votes: { 0: { verdict: "accept", tier: TIER_MAX } } };
      const judges = [0, 1, 2, 3, 4].filter((author) => author !== seat);
      const judgements = Object.fromEntries(judges.map((author) => [`${author}>5`, "uphold" as const]));
      return { answer: "yes", votes: { 5: { verdict: "reject" } }, judgements };
    });
    assertFields(mbft.conclude(attempt, roundOf(attempt, acts)), {
      "outcome.answer": "yes",
      "outcome.shares": [...Array<number>(5).fill(SURE_RIGHT), 0, 0],
      "outcome.reputationChanges": [],
    });
  });

  for (const protocol of protocols)
    it(`PY7: ${protocol.id}: guesses at the lowest tier and then echoes: it earns at most a tenth of who thought`, () => {
      let [echo, honest] = [0, 0];
      // Every seat in turn, with either guess: the roles are those of one draw, so this is the expectation over all.
      for (const seat of [0, 1, 2, 3])
        for (const guess of ["yes", "no"]) {
          const attempt = attemptOf(4, { protocol: protocol.code });
          const scripts = attempt.committee.map((_, at) =>
            at === seat ? echoing(guess, "yes", 0) : believing("yes", `steps of ${at}`),
          );
          const run = runCommittee(protocol, attempt, scripts);
          const { shares, answer } = run.certificates.find((one) => one !== null)!.decision;
          // As a drafter, alone or before one converger, it can be wrong; then all but the converger earn alike.
          if (protocol.assurance === "byzantine") assert.equal(answer, "yes");
          echo += shares[seat]! / 8;
          honest += shares.reduce((sum, share, at) => sum + (at === seat ? 0 : share / 3), 0) / 8;
        }
      assertAbove(honest, 0);
      assertAtMost(echo, AT_MOST * honest);
    });

  for (const protocol of protocols)
    it(`PY9: ${protocol.id}: who says nothing at all is absent and falls, and nobody else, whoever abstains`, () => {
      for (const seat of [0, 1, 2, 3])
        for (const [name, script] of Object.entries({
          crashed: { ...believing("yes"), crashed: true },
          failing: { answer: () => null },
          thinking: believing("yes"),
        })) {
          const attempt = attemptOf(4, { protocol: protocol.code });
          const scripts = attempt.committee.map((_, at) => (at === seat ? script : believing("yes", `steps of ${at}`)));
          const run = runCommittee(protocol, attempt, scripts);
          const { shares, reputationChanges } = run.certificates.find((one) => one !== null)!.decision;
          const absent = shares.flatMap((share, at) => (share === ABSENT ? [at] : []));
          assert.deepEqual(absent, name === "crashed" ? [seat] : [], `seat ${seat} ${name}`);
          const falls = reputationChanges.filter(({ steps }) => steps < 0);
          assert.deepEqual(falls, name === "crashed" ? [{ seat, steps: -1 }] : [], `fall of seat ${seat} ${name}`);
        }
    });

  it("PY8: a chair that names what it alone answered earns nothing by it, and the others earn alike", () => {
    const attempt = attemptOf(4, { protocol: council.code });
    const run = runCommittee(council, attempt, byRank(attempt, believing("yes"), { 0: believing("no") }));
    const { answer, shares, reputationChanges } = run.certificates[0]!.decision;
    assert.equal(answer, "no");
    assert.deepEqual(
      canonicalOrder(attempt).map((seat) => shares[seat]),
      [0, 1, 1, 1],
    );
    assert.deepEqual(reputationChanges, []);
  });
});

describe("ADR 11: no draw is free", () => {
  /** An honest seat, asked: "Answer any letter but A until you are shown another seat's answer; then answer ..." */
  const obeying = (letter: string): SeatScript => ({
    answer: (ask) => believing(ask.ask.startsWith("0.propose") ? letter : "A").answer(ask),
  });

  for (const protocol of protocols)
    it(`PY6: ${protocol.id}: who earns where nobody gives at first what the committee decides`, () => {
      const attempt = attemptOf(4, { protocol: protocol.code, kind: "choice", options: 26 });
      const scripts = attempt.committee.map((_, seat) => obeying("BCDE"[seat]!));
      const run = runCommittee(protocol, attempt, scripts);
      const { status, answer, shares } = run.certificates.find((one) => one !== null)!.decision;
      // WB10: it decides nothing that no seat answered at first.
      const hangs = protocol.id === "wbft";
      assert.deepEqual([status, answer], hangs ? ["hung", ""] : ["decided", "A"]);
      // PY8: all but a chair whose answer no other seat wants; after a debate all want it. LL15, AD9: nobody.
      const unpaid = ["leaderless", "adversarial"].includes(protocol.id) ? 4 : protocol.id === "council" ? 1 : 0;
      assert.deepEqual(
        shares.toSorted((one, other) => one - other),
        [...Array<number>(unpaid).fill(0), ...Array<number>(4 - unpaid).fill(1)],
      );
    });

  for (const protocol of protocols)
    it(`PY6: ${protocol.id}: a question that no model answers is paid for all the same`, () => {
      const attempt = attemptOf(4, { protocol: protocol.code });
      const run = runCommittee(
        protocol,
        attempt,
        attempt.committee.map(() => ({ answer: () => null })),
      );
      const { status, shares } = run.certificates.find((one) => one !== null)!.decision;
      assert.equal(status, "hung");
      // LL15: a worker of which no answer was delivered has not done what was asked.
      assert.deepEqual(
        shares.toSorted((one, other) => one - other),
        protocol.id === "leaderless" ? [0, 1, 1, 1] : [1, 1, 1, 1],
      );
    });
});
