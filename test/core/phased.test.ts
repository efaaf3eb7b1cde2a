import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { outcomeFrom } from "../../agents/core/phases/outcome.ts";
import { NOBODY_BLIND } from "../../agents/core/phases/pay.ts";
import { phased } from "../../agents/core/phases/phased.ts";
import type { Effect } from "../../agents/core/protocol.ts";
import { candidatesOf, commitForm, revealForm, sayCommit, sayReveal } from "../../agents/core/phases/proposals.ts";
import { isMapOf } from "../../agents/core/encoding/codec.ts";
import { closeForm, counted, withSeen, type Form } from "../../agents/core/phases/round-book.ts";
import { proposePrompt } from "../../agents/core/prompts/task-prompt.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { startSeat, stepSeat } from "../../agents/core/seat/seat.ts";
import type { Attempt, Message, Ppm, SeatIndex } from "../../agents/core/types.ts";
import { attemptOf, keyOf, runCommittee, signMessage, timing, type SeatScript } from "../support/core/committee.ts";
import { assertAtLeast, assertBelow, assertIncludes } from "../support/assertions.ts";

const WORD = 50;
/** The most seats that a protocol takes, so that no change lowers it unseen. */
const mostSeats: Readonly<Record<string, number>> = {
  mbft: 64,
  "mbft-bayesian": 64,
  wbft: 64,
  leaderless: 64,
  unanimous: 64,
  council: 26,
  debate: 26,
  adversarial: 26,
  escalating: 26,
  hashgraph: 31,
};

const wordForm: Form<{ readonly yes: boolean }> = {
  name: "word",
  phase: WORD,
  encode: ({ yes }) => ({ yes }),
  decode: (_, value) => (isMapOf(value, ["yes"]) && typeof value["yes"] === "boolean" ? { yes: value["yes"] } : null),
};

/** Seat 0 alone answers and then gives its word; its answer is the decision. Two rounds. */
const soloist = phased<null>({
  id: "soloist",
  code: 1,
  version: 1,
  title: "Test",
  assurance: "chair",
  rounds: () => 2,
  forms: () => [commitForm, revealForm, wordForm, closeForm],
  speakers: (_, __, phase) => (phase === WORD ? [0 as SeatIndex] : null),
  initial: () => null,
  assessRound: (book) => {
    const word = counted(book, wordForm, 0 as SeatIndex, "closed")?.body.yes === true;
    const [only] = word ? candidatesOf(book, "closed") : [];
    const winner = only && { answer: only.answer, confidence: 1_000_000 as Ppm, alike: [] };
    if (winner === undefined && book.round === 0) return { carry: null, outcome: null };
    const slashes = book.attempt.committee.map(() => 0);
    return {
      carry: null,
      outcome: outcomeFrom(book.attempt, { winner: winner ?? null, blind: NOBODY_BLIND, slashes, completed: [] }),
    };
  },
  calls: (view, phase) =>
    phase === commitForm.phase && view.self === 0 ? [{ about: ["propose"], prompt: proposePrompt(view.attempt) }] : [],
  say: (view, phase) => {
    if (phase === commitForm.phase) return sayCommit(view);
    return phase === revealForm.phase ? sayReveal(view) : { yes: true };
  },
});

const says = (answer: string | null): SeatScript => ({
  answer: () => (answer === null ? null : { fields: { proof: "", answer } }),
});

describe("the phased engine", () => {
  const committee = (answer: string | null, bend: Partial<SeatScript> = {}): SeatScript[] => [
    { ...says(answer), ...bend },
    says("no"),
    says("no"),
    says("no"),
  ];

  it("PH5: only speakers ask their models; the others wait for them and go on", () => {
    const run = runCommittee(soloist, attemptOf(4), committee("yes"));
    assert.equal(run.asks, 1);
    for (const certificate of run.certificates) assert.equal(certificate?.decision.answer, "yes");
    assertBelow(run.elapsedMs, timing.phaseMs);
  });

  it("PH5, PH7, PH9: a crashed or failing speaker costs its time-out and a round, then the attempt is Hung", () => {
    for (const [script, rounds] of [
      [committee("yes", { crashed: true }), 0],
      [committee(null), 2],
    ] as const) {
      const run = runCommittee(soloist, attemptOf(4), script);
      assert.equal(run.asks, rounds);
      for (const certificate of run.certificates.slice(1)) assert.equal(certificate?.decision.status, "hung");
      assertBelow(run.elapsedMs, soloist.phasesAtMost(attemptOf(4)) * timing.phaseMs);
    }
  });

  it("PH4: a message counts if more than half of the seats were told it, and not with half", () => {
    for (const [told, status] of [
      [1, "hung"],
      [2, "decided"],
    ] as const) {
      const bend: Partial<SeatScript> = {
        say: (effect, to) => (effect.phase !== WORD || to <= told ? [effect] : []),
        hoards: true,
      };
      const run = runCommittee(soloist, attemptOf(4), committee("yes", bend));
      assert.equal(run.certificates[1]?.decision.status, status, `${told} told`);
    }
  });

  it("PH2: names why a message may not stand in its slot", () => {
    const attempt = attemptOf(4);
    const refuses = (phase: number, round: number, seat: number, payload: object = {}) =>
      soloist.rejectPayload(attempt, { phase, round, seat: seat as SeatIndex }, payload as never);
    const seen = [null, null, null, null];
    assert.equal(refuses(closeForm.phase, 0, 3, withSeen({}, seen, seen)), null);
    assert.equal(refuses(99, 0, 0), "unknown-phase");
    assert.equal(refuses(closeForm.phase, 2, 0, withSeen({}, seen, seen)), "no-such-round");
    assert.equal(refuses(WORD, 0, 1, { yes: true }), "not-a-speaker");
    for (const payload of [
      {},
      withSeen({}, seen),
      withSeen({}, seen, seen.slice(1)),
      withSeen({}, seen, seen, seen),
      withSeen({ more: 1 }, seen, seen),
      { seen: "all" },
    ])
      assert.equal(refuses(closeForm.phase, 0, 0, payload), "malformed-payload");
  });

  it("decodes a payload once for its place, and anew where another phase or attempt has the same one", (context) => {
    const [attempt, other] = [attemptOf(4), attemptOf(7)];
    const decode = context.mock.method(wordForm, "decode");
    const refuses = (by: Attempt, phase: number, payload: object) =>
      soloist.rejectPayload(by, { phase, round: 0, seat: 0 as SeatIndex }, payload as never);
    const word = { yes: true };
    assert.deepEqual([refuses(attempt, WORD, word), refuses(attempt, WORD, word)], [null, null]);
    assert.equal(decode.mock.callCount(), 1);
    assert.equal(refuses(attempt, commitForm.phase, word), "malformed-payload");
    assert.equal(refuses(attempt, WORD, word), null);
    const close = withSeen({}, [null, null, null, null], [null, null, null, null]);
    assert.deepEqual(
      [refuses(attempt, closeForm.phase, close), refuses(other, closeForm.phase, close)],
      [null, "malformed-payload"],
      "a list that fits four seats is taken for seven",
    );
  });

  it("drops inputs that the seat cannot use, and says why", () => {
    const attempt = attemptOf(4);
    const context = { attempt, self: 1 as SeatIndex, secret: keyOf(1), timing };
    const dropReason = (message: Message): string | undefined => {
      const { effects } = stepSeat(soloist, context, startSeat(soloist, context).state, { kind: "message", message });
      return effects.find((effect): effect is Extract<Effect, { kind: "drop" }> => effect.kind === "drop")?.reason;
    };
    assert.equal(dropReason(signMessage(attempt, 0, 99, 0, {})), "unknown-phase");
    assert.equal(dropReason(signMessage(attempt, 0, 205, 0, {})), "unknown-phase");
    assert.equal(dropReason(signMessage(attempt, 0, 202, 64, { root: null })), "no-such-round");
    assert.equal(dropReason(signMessage(attempt, 2, WORD, 0, { yes: true })), "not-a-speaker");
    assert.equal(dropReason(signMessage(attempt, 0, commitForm.phase, 0, { commitment: 1 })), "malformed-payload");
  });
});

describe("every registered protocol", () => {
  for (const protocol of protocols) {
    it(`${protocol.id}: refuses committees that are empty, below four or above its bound, and says so`, () => {
      const sized = (size: number): Attempt => ({
        ...attemptOf(4, { protocol: protocol.code }),
        committee: Array.from({ length: size }, () => attemptOf(4).committee[0]!),
      });
      const most = Number(/^committee size 0 is outside 4\.\.(\d+)$/.exec(protocol.refuseRequest(sized(0)) ?? "")?.[1]);
      assert.equal(most, mostSeats[protocol.id] ?? most);
      for (const size of [0, 1, 3, 65])
        assert.equal(protocol.refuseRequest(sized(size)), `committee size ${size} is outside 4..${most}`);
      assert.notEqual(protocol.refuseRequest(sized(most + 1)), null);
      for (const size of [4, most]) assert.equal(protocol.refuseRequest(sized(size)), null);
    });

    it(`${protocol.id}: has a code, a kebab-case id and a version of its own`, () => {
      assert.match(protocol.id, /^[a-z]+(-[a-z]+)*$/);
      assertAtLeast(protocol.version, 1);
      assert.equal(protocols.filter(({ code, id }) => code === protocol.code || id === protocol.id).length, 1);
    });

    it(`${protocol.id}: refuses unknown phases, late rounds and malformed payloads with a reason`, () => {
      const attempt = attemptOf(4, { protocol: protocol.code });
      const slot = { phase: 199, round: 0, seat: 0 as SeatIndex };
      assert.equal(protocol.rejectPayload(attempt, slot, {}), "unknown-phase");
      assertIncludes(
        ["no-such-round", "unknown-phase"],
        protocol.rejectPayload(attempt, { ...slot, round: 1_000_000 }, {}),
      );
      for (let phase = 1; phase < 201; phase++)
        for (const payload of [null, 7, "text", [], { junk: new Uint8Array(3) }])
          assert.notEqual(protocol.rejectPayload(attempt, { ...slot, phase }, payload), null, `phase ${phase}`);
    });
  }
});
