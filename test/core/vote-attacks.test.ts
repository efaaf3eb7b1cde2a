import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { isPayloadMap } from "../../agents/core/encoding/payload.ts";
import { revealForm } from "../../agents/core/phases/proposals.ts";
import { CLOSE } from "../../agents/core/phases/round-book.ts";
import { CRITERIA } from "../../agents/core/phases/scores.ts";
import { VOTE } from "../../agents/core/phases/votes.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import { escalating } from "../../agents/core/protocols/escalating/index.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { wbft } from "../../agents/core/protocols/wbft/index.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { canonicalRanks } from "../../agents/core/seat/order.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import type { Attempt, Digest, RequestId } from "../../agents/core/types.ts";
import { attemptOf, runCommittee, withId, type SeatScript } from "../support/core/committee.ts";
import { believing, decisionOf, fieldOf, taskOf } from "../support/core/council-scripts.ts";
import { accept, finalOf, reject, REVEAL, type SeatActs } from "../support/core/mbft-set.ts";

/** Attacks on votes that hung honest seats that agree, or had them slashed for what a liar said. */

type Send = Parameters<NonNullable<SeatScript["say"]>>[0];
type Payload = Send["payload"];

/** A seat that gives an answer, and holds just those answers right that `isRight` names, its own or not. */
function judging(own: string, isRight: (answer: string) => boolean, isSame = (): boolean => false): SeatScript {
  return {
    answer: ({ prompt }) => {
      const isGood = isRight(fieldOf(prompt, "answer") ?? "");
      switch (taskOf(prompt)) {
        case "verify":
          return { fields: { check: "so", verdict: isGood ? "accept" : "reject" } };
        case "adjudicate":
          return { fields: { check: "so", verdict: isGood ? "refute" : "uphold" } };
        case "match":
          return {
            fields: {
              check: "so",
              verdict: isSame() && isRight(fieldOf(prompt, "other") ?? "") === isGood ? "same" : "different",
            },
          };
        case "score":
          return {
            fields: { check: "so", ...Object.fromEntries(CRITERIA.map((name) => [name, isGood ? "20" : "2"])) },
          };
        default:
          return { fields: { proof: "p", answer: own } };
      }
    },
  };
}

const saying = (effect: Send, more: Record<string, Payload[string]>): Send => ({
  ...effect,
  payload: { ...effect.payload, ...more },
});

/** A vote that rejects the answer that a reveal shows, or says that it shows. */
function rejecting(attempt: Attempt, target: Digest, answer: string): Record<string, Payload[string]> {
  const outcome = canonicalAnswer(attempt.request, answer)?.outcome;
  assert.ok(outcome !== undefined);
  const vote = {
    target: hexToBytes(target),
    outcome: hexToBytes(outcome),
    verdict: "reject",
    tier: 900_000,
    counterProof: "it is 10",
  };
  return { votes: [vote] };
}

/** Reveals a number and 4001, so that its slot is void, and rejects `accused` by a counter-proof that shows its own number. */
function voidLiar(attempt: Attempt, own: string, accused: string): SeatScript {
  const named = new Map<number, Digest>();
  return {
    ...judging(own, () => true),
    say: (effect) => {
      const { phase, round, payload } = effect;
      if (phase === revealForm.phase && isPayloadMap(payload["proposal"] ?? null)) {
        named.set(round, digestOf(payload));
        return [effect, saying(effect, { proposal: { ...(payload["proposal"] as Payload), answer: "4001" } })];
      }
      const target = named.get(round);
      return [phase === VOTE && target !== undefined ? saying(effect, rejecting(attempt, target, accused)) : effect];
    },
  };
}

/** Reveals its number when it votes, too late to count, and rejects it by a counter-proof. */
function lateLiar(attempt: Attempt, own: string): SeatScript {
  const kept = new Map<number, Send>();
  return {
    ...judging(own, () => true),
    hoards: true,
    saysToItself: true,
    say: (effect) => {
      if (effect.phase === revealForm.phase) {
        kept.set(effect.round, effect);
        return [];
      }
      const reveal = kept.get(effect.round);
      if (effect.phase !== VOTE || reveal === undefined) return [effect];
      return [reveal, saying(effect, rejecting(attempt, digestOf(reveal.payload), own))];
    },
  };
}

const fallen = (changes: readonly { readonly seat: number; readonly steps: number }[]): readonly number[] =>
  changes.filter(({ steps }) => steps < 0).map(({ seat }) => seat);

describe("MB10: judges judge what a class would decide", () => {
  const isTen = (answer: string): boolean => answer === "10";
  const liars = [
    {
      name: "of a void slot that says another answer",
      liar: (of: Attempt) => voidLiar(of, "4000", "10"),
      slashed: [3],
    },
    { name: "of a void slot within the tolerance", liar: (of: Attempt) => voidLiar(of, "20", "20"), slashed: [3] },
    { name: "of an own answer that came late", liar: (of: Attempt) => lateLiar(of, "20"), slashed: [] },
  ];
  for (const protocol of [mbft, escalating])
    for (const { name, liar, slashed } of liars)
      it(`${protocol.id}: a counter-proof ${name} slashes no other seat`, () => {
        const terms = { protocol: protocol.code, kind: "number", decimals: 0, tolerance: 10n } as const;
        const attempt = attemptOf(4, terms);
        const honest = ["10", "10", "300"].map((own) => judging(own, isTen));
        const run = runCommittee(protocol, attempt, [...honest, liar(attempt)], { latencyOf: () => 10 });
        const { answer, reputationChanges, shares } = decisionOf(run);
        assert.deepEqual([answer, fallen(reputationChanges)], ["10", slashed]);
        assert.ok((shares[0] ?? 0) > 1 && shares[0] === shares[1]);
        const why = protocol.explain?.(attempt, run.states[0]?.tally ?? emptyTally) ?? [];
        const isVoid = why.includes("seat 3: it signed two different messages where one is due: neither counts");
        assert.equal(isVoid, slashed.length > 0);
      });

  it("mbft: what refutes a member's answer that the class would not decide vetoes nothing", () => {
    const attempt = attemptOf(7, { kind: "number", decimals: 0, tolerance: 10n });
    let named: Digest | null = null;
    const shows: SeatScript = {
      ...judging("20", () => true),
      say: (effect) => {
        if (effect.phase === revealForm.phase) named = digestOf(effect.payload);
        return [effect];
      },
    };
    const rejects: SeatScript = {
      ...judging("60", () => true),
      say: (effect) => [
        effect.phase === VOTE && named !== null ? saying(effect, rejecting(attempt, named, "20")) : effect,
      ],
    };
    const honest = ["10", "10", "10", "40", "41"].map((own) => judging(own, isTen));
    const { answer, reputationChanges } = decisionOf(runCommittee(mbft, attempt, [...honest, shows, rejects]));
    assert.deepEqual([answer, fallen(reputationChanges)], ["10", []]);
  });

  it("MB16: the first seat does not fall for another's number within the tolerance", () => {
    const attempt = attemptOf(7, { kind: "number", decimals: 0, tolerance: 10n }, [
      1_000_000,
      ...Array<number>(6).fill(990_000),
    ]);
    const honest = ["10", "40", "60", "80", "100"].map((own) => judging(own, isTen));
    const liar: SeatScript = {
      ...judging("20", () => false),
      say: (effect) => [effect.phase === VOTE ? saying(effect, { votes: [] }) : effect],
    };
    const { reputationChanges } = decisionOf(runCommittee(mbft, attempt, [...honest, liar, liar]));
    assert.deepEqual(fallen(reputationChanges), []);
  });
});

describe("MB9: whom a vote is about", () => {
  /** 10, 15 and 20 agree on 15; 25 is within the tolerance of that. */
  const attempt = attemptOf(7, { kind: "number", decimals: 0, tolerance: 10n });
  const acts = (lie: string, isLate: boolean): readonly SeatActs[] =>
    ["10", "15", "20", "40", "40", lie, "60"].map((answer, seat) => ({
      answer,
      votes: seat < 3 ? (isLate ? {} : { 5: reject }) : seat < 5 ? { 1: accept, 5: reject } : {},
      judgements: Object.fromEntries([0, 1, 2, 3, 4].map((author) => [`${author}>5`, "uphold" as const])),
      sees: (phase: number, of: number) => !isLate || phase !== REVEAL || of !== 5 || [3, 4, 5].includes(seat),
    }));
  for (const isLate of [false, true])
    for (const lie of ["26", "25"])
      it(`what is said of ${lie}, ${isLate ? "which only some saw in time" : "a class of its own"}, takes no vote from 15`, () => {
        const outcome = finalOf(attempt, acts(lie, isLate));
        assert.deepEqual([outcome?.status, outcome?.answer, outcome?.reputationChanges], ["decided", "15", []]);
      });

  for (const lie of ["25", "26"])
    it(`what is said of ${lie}, of a class that is not looked at, vetoes no other`, () => {
      const answers = ["10", "15", "20", "100", "200", "300", "400", "500", "600", lie, "700", "800", "900"];
      const crowd = answers.map((answer, seat): SeatActs => ({
        answer,
        tier: seat === 9 ? 300_000 : 900_000,
        votes: seat < 3 ? {} : seat < 9 ? { 1: accept } : seat === 10 ? { 9: reject } : {},
        judgements: seat < 9 ? { "10>9": "uphold" } : {},
      }));
      assert.equal(finalOf(attemptOf(13, { kind: "number", decimals: 0, tolerance: 10n }), crowd)?.answer, "15");
    });

  for (const { protocol, assurance } of [
    { protocol: mbft, assurance: "normal" },
    { protocol: escalating, assurance: "normal" },
    { protocol: clo, assurance: "high" },
  ] as const)
    it(`${protocol.id}: one seat that finds its own text different hangs nobody, though its text is in two classes then`, () => {
      const isRight = (answer: string): boolean => answer.includes("Paris");
      const says = [
        "It is Paris",
        "It is Paris",
        "It is Paris",
        "Paris",
        "Rome",
        "Oslo",
        "Bonn",
        "Paris",
        "Lima",
        "Cairo",
      ];
      const scripts = says.map((own, seat) => judging(own, isRight, () => seat !== 7));
      const run = runCommittee(protocol, attemptOf(10, { protocol: protocol.code, kind: "text", assurance }), scripts);
      assert.match(decisionOf(run).answer, /Paris/);
    });

  it("WB5: no two classes are marked by the same text", () => {
    const isRight = (answer: string): boolean => answer.includes("Paris");
    const says = ["It is Paris", "It is Paris", "It is Paris", "Paris", "Rome", "Paris", "Lima"];
    const terms = { protocol: wbft.code, kind: "text" } as const;
    const ids = Array.from({ length: 200 }, (_, index) => withId(attemptOf(7, terms), BigInt(index + 7) as RequestId));
    const attemptOfFirst = ids.find((one) => {
      const ranks = canonicalRanks(one);
      return [0, 1, 2].every((seat) => (ranks[3] as number) < (ranks[seat] as number));
    });
    assert.ok(attemptOfFirst !== undefined);
    const scripts = says.map((own, seat) => judging(own, isRight, () => seat !== 5));
    const { shares } = decisionOf(runCommittee(wbft, attemptOfFirst, scripts));
    assert.ok((shares[0] ?? 0) > 1);
  });
});

describe("MB20: a count that one seat alone was shown", () => {
  for (const protocol of [mbft, escalating])
    it(`${protocol.id}: keeps it from verifying in the first round only`, () => {
      const kept = new Map<number, Send>();
      const liar: SeatScript = {
        ...believing("yes"),
        hoards: true,
        saysToItself: false,
        say: (effect, to) => {
          const { phase, round } = effect;
          if (phase === revealForm.phase) kept.set(round, effect);
          if (phase === revealForm.phase || phase === VOTE) return to === 2 ? [effect] : [];
          const reveal = kept.get(round);
          return phase > VOTE && phase <= CLOSE && reveal !== undefined ? [reveal, effect] : [effect];
        },
      };
      const convinced = judging("no", (answer) => answer === "yes");
      const attempt = attemptOf(4, { protocol: protocol.code });
      const run = runCommittee(protocol, attempt, [believing("yes"), believing("yes"), convinced, liar], {
        latencyOf: () => 10,
      });
      assert.equal(decisionOf(run).answer, "yes");
    });
});

describe("MB10: no liar rids a class of a counter-proof", () => {
  const isParis = (answer: string): boolean => answer.includes("Paris");

  for (const protocol of [mbft, escalating])
    it(`${protocol.id}: by a text that it puts into a class of its own, too`, () => {
      const attempt = attemptOf(7, { protocol: protocol.code, kind: "text" });
      const cityOf = (text: string): string => /Rome|Paris|Oslo/.exec(text)?.[0] ?? text;
      const comparing = (own: string, isRight: (answer: string) => boolean, denies: string): SeatScript => {
        const script = judging(own, isRight);
        return {
          answer: (ask) => {
            if (taskOf(ask.prompt) !== "match") return script.answer(ask);
            const [one = "", other = ""] = ["answer", "other"].map((name) => fieldOf(ask.prompt, name));
            const isSame = cityOf(one) === cityOf(other) && cityOf(one) !== denies;
            return { fields: { check: "so", verdict: isSame ? "same" : "different" } };
          },
        };
      };
      const honest = ["Rome", "Rome", "Paris", "Paris", "Oslo"].map((own) => comparing(own, isParis, ""));
      const liars = [
        comparing("It is Rome", (answer) => answer.includes("Rome"), ""),
        comparing("It is Rome", (answer) => answer === "Rome", "Rome"),
      ];
      assert.equal(
        decisionOf(runCommittee(protocol, attempt, [...honest, ...liars], { latencyOf: () => 10 })).answer,
        "Paris",
      );
    });

  for (const protocol of [mbft, escalating])
    it(`${protocol.id}: by an answer that it takes back, so that its class decides another number`, () => {
      const attempt = attemptOf(7, { protocol: protocol.code, kind: "number", decimals: 0, tolerance: 10n });
      const honest = ["100", "100", "10", "10", "300"].map((own) => judging(own, (answer) => answer === "10"));
      const isLie = (answer: string): boolean => ["95", "100"].includes(answer);
      const shown = new Map<number, Digest>();
      const kept = new Map<number, Send>();
      const outcome = canonicalAnswer(attempt.request, "100")?.outcome;
      assert.ok(outcome !== undefined);
      const liar: SeatScript = {
        ...judging("95", isLie),
        hoards: true,
        saysToItself: false,
        hear: ({ header }) => {
          if (header.phase === revealForm.phase && header.seat === 0) shown.set(header.round, header.payloadDigest);
        },
        say: (effect) => {
          if (effect.phase === revealForm.phase) kept.set(effect.round, effect);
          const reveal = kept.get(effect.round);
          const target = shown.get(effect.round);
          if (effect.phase !== VOTE || reveal === undefined || target === undefined) return [effect];
          const accepted = {
            target: hexToBytes(target),
            outcome: hexToBytes(outcome),
            verdict: "accept",
            tier: 900_000,
            counterProof: "",
          };
          const proposal = { ...(reveal.payload["proposal"] as Payload), answer: "4001" };
          return [saying(effect, { votes: [accepted] }), saying(reveal, { proposal })];
        },
      };
      const run = runCommittee(protocol, attempt, [...honest, liar, judging("95", isLie)], { latencyOf: () => 10 });
      assert.equal(decisionOf(run).answer, "10");
      assert.ok(fallen(decisionOf(run).reputationChanges).includes(5));
    });
});

describe("MB20: where the count decides", () => {
  it("escalating: nobody verifies in mbft's first round", () => {
    const attempt = attemptOf(7, { protocol: escalating.code, assurance: "high" });
    const scripts = ["yes", "yes", "yes", "yes", "yes", "no", "no"].map((own) => believing(own));
    assert.equal(runCommittee(escalating, attempt, scripts).asks, 14);
  });
});
