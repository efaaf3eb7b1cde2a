import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { PREVOTE, PROPOSE } from "../../agents/core/seat/certify/messages.ts";
import { hexToBytes, keccak256, sha256 } from "../../agents/core/encoding/bytes.ts";
import { hashedRequest } from "../../agents/core/encoding/typed-data.ts";
import type { Effect, SeatContext } from "../../agents/core/protocol.ts";
import { protocolById, protocols } from "../../agents/core/protocols/index.ts";
import { isText, questionBytes, rawText } from "../../agents/core/request/question.ts";
import { rejectMessage, startSeat } from "../../agents/core/seat/seat.ts";
import { addMessage, emptyTally } from "../../agents/core/seat/tally.ts";
import { buildTranscript, readRoot, replay } from "../../agents/core/encoding/transcript.ts";
import type { Attempt, Decision, Digest, SeatIndex, Terms } from "../../agents/core/types.ts";
import { attemptOf, keyOf, runCommittee, signMessage, timing, type SeatScript } from "../support/core/committee.ts";
import { assertFields } from "../support/assertions.ts";

const NAMED = `source: bafyrei${"a".repeat(52)}`;

function asking(id: string, seats: number, terms: Partial<Terms>, question = "Is 720 more than 500?"): Attempt {
  const attempt = attemptOf(seats, { ...terms, protocol: protocolById(id)!.code });
  return { ...attempt, request: { ...attempt.request, question } };
}

/** One of each kind of refusal. */
const REFUSED: readonly (readonly [id: string, attempt: Attempt, reason: RegExp])[] = [
  ...protocols.map(({ id }) => [id, asking(id, 4, {}, rawText(Uint8Array.of(0xc3, 0x28))), /not UTF-8/] as const),
  ...protocols.map(({ id }) => [id, asking(id, 3, {}), /outside 4|fewer/] as const),
  ...["council", "debate", "adversarial"].flatMap(
    (id) =>
      [
        [id, asking(id, 4, { assurance: "high" }), /one seat's word/],
        [id, asking(id, 27, {}), /at most 26 seats/],
        [id, asking(id, 13, { appeals: 1 }), /at most 26 seats, not 27/],
      ] as const,
  ),
  ["leaderless", asking("leaderless", 4, { kind: "text", assurance: "high" }), /no high assurance for texts/],
  ["hashgraph", asking("hashgraph", 32, {}), /outside 4\.\.31/],
  ["hashgraph", asking("hashgraph", 7, { appeals: 3 }), /committee size 63/],
  ["escalating", asking("escalating", 27, {}), /room for 26/],
  ["escalating", asking("escalating", 4, { appeals: 3 }), /room for 26 seats, not 39/],
  ["escalating", asking("escalating", 4, {}, "Why?\nsource: none"), /cannot be read/],
  ["escalating", asking("escalating", 4, {}, `${NAMED} is what?`), /elsewhere than in its last lines|cannot be read/],
];

const contextOf = (attempt: Attempt, self: number): SeatContext => ({
  attempt,
  self: self as SeatIndex,
  secret: keyOf(1000 + self),
  timing,
});

const sendsOf = (effects: readonly Effect[]): readonly number[] =>
  effects.flatMap((effect) => (effect.kind === "send" ? [effect.phase] : []));

const honest: SeatScript = { answer: () => ({ fields: {} }) };

/** Proposes an answer, votes for it and signs it, whatever the request. */
function lying(attempt: Attempt, id: string): SeatScript {
  const said = signMessage(attempt, 0, 1, 0, { commitment: null });
  const protocol = protocolById(id)!;
  const { rootBlock, root } = buildTranscript(attempt, protocol, addMessage(emptyTally, said).tally, {
    round: 0,
    phase: 1,
  });
  const outcome = `0x${"00".repeat(31)}01` as Digest;
  const forged = (before: Decision): Decision => ({
    ...before,
    status: "decided",
    outcome,
    answer: "yes",
    transcript: root,
  });
  return {
    ...honest,
    say: (effect) => {
      if (effect.phase === PROPOSE) return [{ ...effect, payload: { root: rootBlock, validRound: null } }];
      if (effect.phase === PREVOTE || effect.decision === undefined)
        return [{ ...effect, payload: effect.phase === PREVOTE ? { root: hexToBytes(root) } : effect.payload }];
      return [{ ...effect, payload: { ...effect.payload, root: hexToBytes(root) }, decision: forged(effect.decision) }];
    },
  };
}

describe("refused questions", () => {
  it("CE19: a refused request is concluded Hung without messages by every replay, and every seat is paid alike", () => {
    for (const [id, attempt, reason] of REFUSED) {
      const protocol = protocolById(id)!;
      assert.match(String(protocol.refuseRequest(attempt)), reason, id);
      const { root, rootBlock, blocks } = buildTranscript(attempt, protocol, emptyTally, { round: -1, phase: 0 });
      assert.deepEqual(blocks, []);
      assert.deepEqual(readRoot(attempt, protocol, rootBlock), { messages: [] });
      const replayed = replay(attempt, protocol, root, []);
      assertFields(replayed, { kind: "replayed", "conclusion.kind": "final" }, id);
      assertFields(replayed, { "conclusion.outcome.status": "hung", "conclusion.through.round": -1 });
      assertFields(replayed, { "conclusion.outcome.reputationChanges": [] });
      const shares = attempt.committee.map(() => 1);
      assertFields(replayed, { "conclusion.outcome.shares": shares });
    }
  });

  it("CE19: no message can be said in a refused attempt, and a root that holds one fails the replay", () => {
    for (const [id, attempt] of REFUSED) {
      const protocol = protocolById(id)!;
      const message = signMessage(attempt, 0, 1, 0, { commitment: null });
      assert.equal(rejectMessage(protocol, attempt, message), "question-refused");
      const result = replay(attempt, protocol, keccak256(Uint8Array.of()), [
        { digest: sha256(Uint8Array.of()), message },
      ]);
      assertFields(result, { kind: "failed" });
      assert.match("reason" in result ? result.reason : "", /question-refused/);
    }
  });

  it("CE19: a seat certifies at once, without a model call, exactly when the replay of nothing concludes", () => {
    const texts = ["Is it so?", "Why?\nsource: none", `Why?\n${NAMED}`, rawText(Uint8Array.of(0xff))];
    fc.assert(
      fc.property(
        fc.constantFrom(...protocols),
        fc.constantFrom(3, 4, 7, 13, 26, 27, 31, 32),
        fc.constantFrom<Terms["kind"]>("boolean", "text", "number"),
        fc.constantFrom<Terms["assurance"]>("normal", "high"),
        fc.constantFrom(0, 1),
        fc.constantFrom(...texts),
        (protocol, seats, kind, assurance, appeals, question) => {
          const attempt = asking(protocol.id, seats, { kind, assurance, appeals }, question);
          const isRefused = protocol.refuseRequest(attempt) !== null;
          const { root } = buildTranscript(attempt, protocol, emptyTally, { round: -1, phase: 0 });
          assert.equal(replay(attempt, protocol, root, []).kind, isRefused ? "replayed" : "failed");
          const starts = [0, 1, 2].map((self) => startSeat(protocol, contextOf(attempt, self)));
          for (const { state, effects } of starts) {
            assert.equal(state.certify.inTime !== null, isRefused);
            if (isRefused)
              assert.equal(
                effects.some((effect) => effect.kind === "ask" || effect.kind === "read"),
                false,
              );
            if (isRefused)
              assert.equal(
                sendsOf(effects).every((phase) => phase === PROPOSE),
                true,
              );
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it("CE19: f seats can neither certify an answer to a refused question nor keep the others from Hung", () => {
    for (const [id, attempt] of [
      ["leaderless", asking("leaderless", 7, { kind: "text", assurance: "high" })],
      ["escalating", asking("escalating", 4, {}, "Why?\nsource: none")],
    ] as const) {
      const f = (attempt.committee.length - 1) / 3;
      for (let seed = 1; seed <= 4; seed++) {
        const scripts = attempt.committee.map((_, seat) =>
          (seat + seed) % 3 === 0 && seat < 3 * f ? lying(attempt, id) : honest,
        );
        const run = runCommittee(protocolById(id)!, attempt, scripts, { seed });
        assert.equal(run.asks, 0);
        const held = run.certificates.filter((_, seat) => scripts[seat] === honest);
        assert.deepEqual(
          held.map((one) => one?.decision.status),
          held.map(() => "hung"),
        );
        assert.equal(new Set(held.map((one) => one?.decision.transcript)).size, 1);
      }
    }
  });

  it("CE19: f seats cannot make a question that is not refused hang", () => {
    const attempt = asking("mbft", 4, {});
    const protocol = protocolById("mbft")!;
    const { root, rootBlock } = buildTranscript(attempt, protocol, emptyTally, { round: -1, phase: 0 });
    const emptying: SeatScript = {
      ...honest,
      say: (effect) =>
        effect.phase === PROPOSE ? [{ ...effect, payload: { root: rootBlock, validRound: null } }] : [effect],
    };
    const knows: SeatScript = {
      answer: () => ({ fields: { answer: "yes", proof: "it is", check: "ok", verdict: "accept" } }),
    };
    for (let liar = 0; liar < 4; liar++) {
      const run = runCommittee(
        protocol,
        attempt,
        [0, 1, 2, 3].map((seat) => (seat === liar ? emptying : knows)),
      );
      const held = run.certificates.filter((_, seat) => seat !== liar);
      assert.deepEqual(
        held.map((one) => one?.decision.answer),
        ["yes", "yes", "yes"],
      );
      assert.equal(
        held.some((one) => one?.decision.transcript === root),
        false,
      );
    }
  });

  it("CE19: the bytes of a question that is not UTF-8 survive, so that its hash is the contract's", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (bytes) => {
        const text = rawText(bytes);
        assert.equal(isText(text), false);
        assert.deepEqual(questionBytes(text), bytes);
        const { request } = attemptOf(4);
        assert.equal(hashedRequest({ ...request, question: text }).questionHash, keccak256(bytes));
      }),
    );
    assert.throws(() => questionBytes("half a \ud83d"), RangeError);
  });
});
