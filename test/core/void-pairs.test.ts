import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { isPayloadMap } from "../../agents/core/encoding/payload.ts";
import { VOTE } from "../../agents/core/phases/votes.ts";
import { revealForm } from "../../agents/core/phases/proposals.ts";
import type { PayloadMap, Protocol } from "../../agents/core/protocol.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { adversarial } from "../../agents/core/protocols/adversarial/index.ts";
import { DRAFT } from "../../agents/core/protocols/adversarial/payloads.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { rejectMessage } from "../../agents/core/seat/seat.ts";
import { addMessage, emptyTally } from "../../agents/core/seat/tally.ts";
import type { Attempt, Digest, Message, Ppm, Value } from "../../agents/core/types.ts";
import { signedBy, stepDecision } from "../../sim/step-decision.ts";
import { attemptOf, runCommittee, type SeatScript } from "../support/core/committee.ts";
import { taskOf } from "../support/core/council-scripts.ts";
import { attemptFor } from "../support/message-set.ts";

/**
 * A seat that signs three messages for one slot can show each half of the committee another pair of them, and a tally keeps two. Whatever hung
 * on which two they are would keep the halves apart for ever. Under hashgraph it may (CE16).
 */

/** Payloads that differ from one in a single leaf. */
function bent(value: Value): readonly Value[] {
  if (value === null) return [new Uint8Array(32).fill(7)];
  if (typeof value === "string")
    return value === "yes" ? ["no"] : value === "no" ? ["yes"] : [`${value}.`, "accept", "reject"];
  if (typeof value === "number") return [300_000, 900_000, value + 1];
  if (value instanceof Uint8Array) return [null, value.map((byte, at) => (at === 0 ? byte ^ 1 : byte))];
  if (typeof value === "boolean") return [!value];
  if (Array.isArray(value)) {
    const list = value as readonly Value[];
    return list.flatMap((entry, at) => [
      list.toSpliced(at, 1),
      ...bent(entry).map((other) => list.toSpliced(at, 1, other)),
    ]);
  }
  const map = value as PayloadMap;
  return Object.entries(map).flatMap(([name, entry]) => [
    ...(entry === null ? [] : [{ ...map, [name]: null }]),
    ...bent(entry).map((other) => ({ ...map, [name]: other })),
  ]);
}

/** What a protocol concludes from messages. */
function concluded(protocol: Protocol, attempt: Attempt, messages: readonly Message[]): unknown {
  const tally = messages.reduce((before, message) => addMessage(before, message).tally, emptyTally);
  return protocol.conclude(attempt, tally);
}

const MOST_VARIANTS = 8;

describe("PH2: which two messages of a void slot a seat holds changes nothing", () => {
  for (const protocol of protocols.filter(({ id }) => id !== hashgraph.id))
    it(`${protocol.id}: each two of many well-formed messages for each slot of each seat`, () => {
      let pairs = 0;
      for (const answers of [
        ["no", "yes", "yes", "yes"],
        ["yes", "no", "no", "yes"],
      ]) {
        const attempt = signedBy(attemptFor(protocol.code, 4, "normal"));
        const minds = answers.map((answer) => ({
          answer,
          words: "",
          approves: (other: string) => other === answer,
          confidence: 900_000 as Ppm,
        }));
        const { messages } = stepDecision({ protocol, attempt, minds, goal: "deliberated", verify: false });
        for (const said of messages) {
          const others = messages.filter((one) => one !== said);
          const variants = bent(said.payload)
            .map((payload) => ({ ...said, payload, header: { ...said.header, payloadDigest: digestOf(payload) } }))
            .filter((one) => rejectMessage(protocol, attempt, one) === null)
            .filter(
              ({ header }, at, all) => all.findIndex((one) => one.header.payloadDigest === header.payloadDigest) === at,
            );
          const slot = [said, ...variants.filter(({ header }) => header.payloadDigest !== said.header.payloadDigest)];
          const held = slot.slice(0, MOST_VARIANTS);
          const first = held.length > 1 ? concluded(protocol, attempt, [...others, ...held.slice(0, 2)]) : null;
          for (const [at, one] of held.entries())
            for (const other of held.slice(at + 1)) {
              pairs++;
              assert.deepEqual(
                concluded(protocol, attempt, [...others, one, other]),
                first,
                `phase ${said.header.phase} of round ${said.header.round}, seat ${said.header.seat}: ${JSON.stringify([one.payload, other.payload])}`,
              );
            }
        }
      }
      assert.ok(pairs > 50, `${pairs} pairs`);
    });
});

describe("PY7: the first draft", () => {
  it("adversarial: a drafter that says three things is paid alike, and so are those after it, whichever two are held", () => {
    const attempt = signedBy(attemptFor(adversarial.code, 4, "normal"));
    const mind = { answer: "yes", words: "", approves: () => true, confidence: 900_000 as Ppm };
    const minds = [mind, mind, mind, mind];
    const isDraft = ({ header }: Message): boolean => header.phase === DRAFT && header.round === 0;
    const run = stepDecision({ protocol: adversarial, attempt, minds, goal: "deliberated", verify: false });
    const draft = run.messages.find(isDraft);
    assert.ok(draft !== undefined && isPayloadMap(draft.payload));
    const silent = {
      protocol: adversarial,
      attempt,
      minds,
      goal: "deliberated",
      verify: false,
      isMute: isDraft,
    } as const;
    const others = stepDecision(silent).messages.filter((message) => !isDraft(message));
    // No draft twice, made by different seeds.
    const [nothing, none] = [1, 2].map((seed): Message => {
      const made = [{ model: "m", engine: "e", sampling: "s", prompts: "p", seeds: [seed] }];
      const payload = { proposal: null, made };
      return { ...draft, payload, header: { ...draft.header, payloadDigest: digestOf(payload) } };
    });
    assert.ok(nothing !== undefined && none !== undefined && rejectMessage(adversarial, attempt, none) === null);
    const first = concluded(adversarial, attempt, [...others, nothing, draft]);
    assert.deepEqual(concluded(adversarial, attempt, [...others, nothing, none]), first);
    assert.notDeepEqual(concluded(adversarial, attempt, [...others, nothing]), first);
  });
});

describe("MB9: a vote that contradicts a reveal of a void slot keeps no two seats apart", () => {
  const cases = [
    { protocol: mbft, kind: "number", answers: ["1", "1", "300", "4000"], lies: ["51", "52", "53"] },
    { protocol: mbft, kind: "text", answers: ["one", "one", "two", "four"], lies: ["x1", "x2", "x3"] },
    { protocol: clo, kind: "text", answers: ["one", "two", "three", "four"], lies: ["x1", "x2", "x3"] },
  ] as const;
  for (const { protocol, kind, answers, lies } of cases)
    it(`${protocol.id}, ${kind}: all certify though a liar shows them other pairs of three reveals`, () => {
      const attempt = attemptOf(4, { protocol: protocol.code, kind, ...(kind === "number" && { decimals: 0 }) });
      const outcome = canonicalAnswer(attempt.request, answers[0])?.outcome;
      assert.ok(outcome !== undefined);
      const honest = (seat: number): SeatScript => ({
        answer: ({ prompt }) => {
          const task = taskOf(prompt);
          if (task === "verify") return { fields: { check: "", verdict: "abstain" } };
          if (task === "match") return { fields: { verdict: "different" } };
          return { fields: { proof: "p", answer: answers[seat] as string } };
        },
      });
      let named: Digest | null = null;
      const liar: SeatScript = {
        ...honest(3),
        hoards: true,
        say: (effect, to) => {
          const { phase, round, payload } = effect;
          if (round > 0) return [];
          if (phase === revealForm.phase && isPayloadMap(payload) && isPayloadMap(payload["proposal"])) {
            const { proposal } = payload;
            const [a, b, c] = lies.map((answer) => ({
              ...effect,
              payload: { ...payload, proposal: { ...proposal, answer } },
            }));
            assert.ok(a !== undefined && b !== undefined && c !== undefined);
            named = digestOf(a.payload);
            return to === 0 ? [a, b] : [b, c];
          }
          if (phase !== VOTE || named === null || !isPayloadMap(payload)) return [effect];
          const vote = {
            target: hexToBytes(named),
            outcome: hexToBytes(outcome),
            verdict: "accept",
            tier: 900_000,
            counterProof: "",
          };
          return [{ ...effect, payload: { ...payload, votes: [vote] } }];
        },
      };
      const scripts = [honest(0), honest(1), honest(2), liar];
      const { certificates } = runCommittee(protocol, attempt, scripts, { latencyOf: () => 10 });
      assert.equal(new Set(certificates.slice(0, 3).map((one) => one?.decision.transcript)).size, 1);
      assert.ok(named !== null && certificates[0] !== null && certificates[0] !== undefined);
    });
});
