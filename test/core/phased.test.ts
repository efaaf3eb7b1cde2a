import { expect } from "chai";
import { describe, it } from "node:test";
import { settle } from "../../agents/core/phases/outcome.ts";
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

const WORD = 50;
/** Of protocols that take fewer than 64 seats. */
const mostSeats: Readonly<Record<string, number>> = {
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
  judgeRound: (book) => {
    const word = counted(book, wordForm, 0 as SeatIndex, "closed")?.body.yes === true;
    const [only] = word ? candidatesOf(book, "closed") : [];
    const winner = only && { answer: only.answer, confidence: 1_000_000 as Ppm, supporters: [only.seat] };
    if (winner === undefined && book.round === 0) return { carry: null, outcome: null };
    const slashes = book.attempt.committee.map(() => 0);
    return { carry: null, outcome: settle(book.attempt, { winner: winner ?? null, slashes, completed: [] }) };
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

  it("PH5: only speakers are asked; the others wait for them and go on", () => {
    const run = runCommittee(soloist, attemptOf(4), committee("yes"));
    expect(run.asks).to.equal(1);
    for (const certificate of run.certificates) expect(certificate?.decision.answer).to.equal("yes");
    expect(run.elapsedMs).to.be.lessThan(timing.phaseMs);
  });

  it("PH5, PH7, PH9: a crashed or failing speaker costs its deadline and a round, then the attempt is Hung", () => {
    for (const [script, rounds] of [
      [committee("yes", { crashed: true }), 0],
      [committee(null), 2],
    ] as const) {
      const run = runCommittee(soloist, attemptOf(4), script);
      expect(run.asks).to.equal(rounds);
      for (const certificate of run.certificates.slice(1)) expect(certificate?.decision.status).to.equal("hung");
      expect(run.elapsedMs).to.be.lessThan(soloist.phasesAtMost(attemptOf(4)) * timing.phaseMs);
    }
  });

  it("PH4: what half of the seats or fewer were told does not count; one more and it does", () => {
    for (const [told, status] of [
      [1, "hung"],
      [2, "decided"],
    ] as const) {
      const bend: Partial<SeatScript> = {
        say: (effect, to) => (effect.phase !== WORD || to <= told ? [effect] : []),
        hoards: true,
      };
      const run = runCommittee(soloist, attemptOf(4), committee("yes", bend));
      expect(run.certificates[1]?.decision.status, `${told} told`).to.equal(status);
    }
  });

  it("PH2: names why a message may not stand in its slot", () => {
    const attempt = attemptOf(4);
    const refuses = (phase: number, round: number, seat: number, payload: object = {}) =>
      soloist.rejectPayload(attempt, { phase, round, seat: seat as SeatIndex }, payload as never);
    const seen = [null, null, null, null];
    expect(refuses(closeForm.phase, 0, 3, withSeen({}, seen, seen))).to.equal(null);
    expect(refuses(99, 0, 0)).to.equal("unknown-phase");
    expect(refuses(closeForm.phase, 2, 0, withSeen({}, seen, seen))).to.equal("no-such-round");
    expect(refuses(WORD, 0, 1, { yes: true })).to.equal("not-a-speaker");
    for (const payload of [
      {},
      withSeen({}, seen),
      withSeen({}, seen, seen.slice(1)),
      withSeen({}, seen, seen, seen),
      withSeen({ more: 1 }, seen, seen),
      { seen: "all" },
    ])
      expect(refuses(closeForm.phase, 0, 0, payload)).to.equal("malformed-payload");
  });

  it("drops what the seat cannot use, and says why", () => {
    const attempt = attemptOf(4);
    const context = { attempt, self: 1 as SeatIndex, secret: keyOf(1), timing };
    const dropReason = (message: Message): string | undefined => {
      const { effects } = stepSeat(soloist, context, startSeat(soloist, context).state, { kind: "message", message });
      return effects.find((effect): effect is Extract<Effect, { kind: "drop" }> => effect.kind === "drop")?.reason;
    };
    expect(dropReason(signMessage(attempt, 0, 99, 0, {}))).to.equal("unknown-phase");
    expect(dropReason(signMessage(attempt, 0, 205, 0, {}))).to.equal("unknown-phase");
    expect(dropReason(signMessage(attempt, 0, 202, 64, { root: null }))).to.equal("no-such-round");
    expect(dropReason(signMessage(attempt, 2, WORD, 0, { yes: true }))).to.equal("not-a-speaker");
    expect(dropReason(signMessage(attempt, 0, commitForm.phase, 0, { commitment: 1 }))).to.equal("malformed-payload");
  });
});

describe("every registered protocol", () => {
  for (const protocol of protocols) {
    it(`${protocol.id}: refuses committees that are empty, below four or above 64 seats, and says so`, () => {
      for (const size of [0, 1, 3, 65]) {
        const attempt: Attempt = {
          ...attemptOf(4),
          committee: Array.from({ length: size }, () => attemptOf(4).committee[0]!),
        };
        const reason = `committee size ${size} is outside 4..${mostSeats[protocol.id] ?? 64}`;
        expect(protocol.refuseRequest(attempt)).to.equal(reason);
      }
      expect(protocol.refuseRequest(attemptOf(4, { protocol: protocol.code }))).to.equal(null);
    });

    it(`${protocol.id}: has a code, a kebab-case id and a version of its own`, () => {
      expect(protocol.id).to.match(/^[a-z]+(-[a-z]+)*$/);
      expect(protocol.version).to.be.at.least(1);
      expect(protocols.filter(({ code, id }) => code === protocol.code || id === protocol.id).length).to.equal(1);
    });

    it(`${protocol.id}: refuses unknown phases, late rounds and malformed payloads with a reason`, () => {
      const attempt = attemptOf(4, { protocol: protocol.code });
      const slot = { phase: 199, round: 0, seat: 0 as SeatIndex };
      expect(protocol.rejectPayload(attempt, slot, {})).to.equal("unknown-phase");
      expect(protocol.rejectPayload(attempt, { ...slot, round: 1_000_000 }, {})).to.be.oneOf([
        "no-such-round",
        "unknown-phase",
      ]);
      for (let phase = 1; phase < 201; phase++)
        for (const payload of [null, 7, "text", [], { junk: new Uint8Array(3) }])
          expect(protocol.rejectPayload(attempt, { ...slot, phase }, payload), `phase ${phase}`).to.not.equal(null);
    });
  }
});
