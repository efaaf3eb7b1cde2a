import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { recoverSigner } from "../../agents/core/encoding/digest.ts";
import { decisionDigest } from "../../agents/core/encoding/typed-data.ts";
import { attemptOf, runCommittee, type SeatScript } from "../support/core/committee.ts";
import { honest, liar } from "../support/core/mbft-scripts.ts";
import { JUDGE, VOTE, addRound } from "../support/core/mbft-set.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import { assertFields } from "../support/assertions.ts";

describe("mbft over a committee", () => {
  it("decides unanimously in round 0 with one certificate", () => {
    const attempt = attemptOf(4);
    const run = runCommittee(
      mbft,
      attempt,
      Array.from({ length: 4 }, () => honest("yes")),
    );
    for (const certificate of run.certificates) {
      assertFields(certificate?.decision, { status: "decided", answer: "yes" });
      assert.equal(certificate?.signatures.length, 3);
      for (const { seat, signature } of certificate?.signatures ?? []) {
        assert.equal(
          recoverSigner(decisionDigest(attempt, certificate.decision), signature),
          attempt.committee[seat]?.signer,
        );
      }
    }
  });

  const writing = (answer: string, confidence: number): SeatScript => ({
    answer: () => ({ fields: { proof: "p", answer }, confidence }),
  });

  it("EQ5, MB20: five unsure seats that write one number in five ways decide it", () => {
    const cases: readonly (readonly [question: string, written: readonly string[], answer: string])[] = [
      ["How many days?", ["1,000", "1000", "1 000 days", "1,000 Days.", "1000."], "1000"],
      ["What do two cost at $2 each?", ["$4", "4", "4.", "4 dollars", "4 USD"], "4"],
      ["Within how many days?", ["7 days", "7", "7.", "7 day", "07"], "7"],
    ];
    for (const [question, written, answer] of cases) {
      const attempt = attemptOf(5, { kind: "number", decimals: 0 });
      const asked = { ...attempt, request: { ...attempt.request, question } };
      const run = runCommittee(
        mbft,
        asked,
        written.map((one) => writing(one, 0)),
      );
      for (const certificate of run.certificates) assertFields(certificate?.decision, { status: "decided", answer });
    }
  });

  for (const n of [4, 7, 10, 13]) {
    it(`n = ${n}: f liars who veto neither stall nor win`, () => {
      const f = Math.floor((n - 1) / 3);
      const scripts = Array.from({ length: n }, (_, seat) => (seat < f ? liar : honest("yes")));
      for (let seed = 1; seed <= 3; seed++) {
        const run = runCommittee(mbft, attemptOf(n), scripts, { seed });
        const decisions = run.certificates.map((certificate) => certificate?.decision);
        assert.deepEqual(
          decisions.map((decision) => `${decision?.status} ${decision?.answer}`),
          scripts.map(() => "decided yes"),
        );
        assert.equal(new Set(decisions.map((decision) => decision?.transcript)).size, 1);
        assert.deepEqual(
          decisions[0]?.reputationChanges.map(({ seat }) => seat),
          Array.from({ length: f }, (_, seat) => seat),
        );
      }
    });
  }

  it("f crashed seats delay but do not stop a decision", () => {
    const scripts = [0, 1, 2, 3, 4, 5, 6].map((seat) =>
      seat < 2 ? { ...honest("yes"), crashed: true } : honest("yes"),
    );
    const run = runCommittee(mbft, attemptOf(7), scripts);
    for (const certificate of run.certificates.slice(2)) assert.equal(certificate?.decision.answer, "yes");
  });

  it("an equivocating seat that then falls silent yields evidence at every honest seat and is slashed", () => {
    const zero = new Uint8Array(32);
    const scripts: SeatScript[] = [0, 1, 2, 3].map(() => honest("yes"));
    scripts[0] = {
      ...honest("yes"),
      say: (effect, to) =>
        effect.phase > 200
          ? []
          : effect.phase === VOTE && to > 1
            ? [{ ...effect, payload: { ...effect.payload, votes: [] } }]
            : [
                effect.phase === VOTE
                  ? {
                      ...effect,
                      payload: {
                        ...effect.payload,
                        votes: [{ target: zero, outcome: zero, verdict: "accept", tier: 900_000, counterProof: "" }],
                      },
                    }
                  : effect,
              ],
    };
    const run = runCommittee(mbft, attemptOf(4), scripts);
    for (const seat of [1, 2, 3]) {
      assert.equal(
        run.effects[seat]?.some((effect) => effect.kind === "evidence" && effect.evidence.first.header.seat === 0),
        true,
      );
      assert.equal(run.certificates[seat]?.decision.answer, "yes");
    }
    assert.deepEqual(run.certificates[1]?.decision.reputationChanges, [{ seat: 0, steps: -1 }]);
  });

  it("two camps of equal weight end as Hung, with a certificate", () => {
    const stubborn = (answer: string): SeatScript => ({
      answer: ({ ask, prompt }) => {
        if (ask.includes("propose")) return { fields: { proof: "p", answer } };
        const own = prompt.small.user.includes(`\nanswer: "${answer}"`);
        return ask.includes("verify")
          ? { fields: { check: "c", verdict: own ? "accept" : "abstain" } }
          : { fields: { check: "c", verdict: "abstain" } };
      },
    });
    const run = runCommittee(mbft, attemptOf(4), [stubborn("yes"), stubborn("yes"), stubborn("no"), stubborn("no")]);
    for (const certificate of run.certificates) assertFields(certificate?.decision, { status: "hung", answer: "" });
  });

  it("PH7: a slow honest seat that was left behind certifies with the others, even if f seats fall silent", () => {
    // Round 0 lacks weight; everybody abstains from verifying.
    const script: SeatScript = {
      answer: ({ ask }) => {
        if (!ask.includes("propose")) return { fields: { check: "c", verdict: "abstain" } };
        return { fields: { proof: "p", answer: "yes" }, confidence: ask.startsWith("0.") ? 100_000 : 900_000 };
      },
    };
    const scripts: SeatScript[] = [
      { ...script, thinkMs: 9_000 },
      script,
      script,
      { ...script, say: (effect) => (effect.phase > 200 ? [] : [effect]), hoards: true },
    ];
    const run = runCommittee(mbft, attemptOf(4), scripts);
    for (const certificate of run.certificates) assertFields(certificate?.decision, { answer: "yes" });
  });

  it("PH10: a judgement told to one seat alone cannot keep it from certifying with the rest", () => {
    const script = (answer: string, verify: string, judge: string): SeatScript => ({
      answer: ({ ask, prompt }) => {
        if (ask.includes("propose")) return { fields: { proof: "p", answer } };
        const isOwn = prompt.small.user.includes(`answer: "${answer}"`);
        if (ask.includes("verify")) return { fields: { check: "counter", verdict: isOwn ? "accept" : verify } };
        return { fields: { check: "c", verdict: judge } };
      },
    });
    const liarSays: SeatScript["say"] = (effect, to) =>
      effect.round > 0 || effect.phase > 200 || (effect.phase === JUDGE && to !== 1) ? [] : [effect];
    const scripts: SeatScript[] = [
      { ...script("yes", "abstain", "uphold"), say: liarSays, hoards: true },
      script("yes", "abstain", "uphold"),
      script("yes", "abstain", "uphold"),
      script("no", "reject", "abstain"),
    ];
    const run = runCommittee(mbft, attemptOf(4), scripts);
    const transcripts = run.certificates.map((certificate) => certificate?.decision.transcript);
    assert.equal(typeof transcripts[1], "string");
    assert.equal(new Set(transcripts.slice(1)).size, 1);
  });

  it("PH7: a judgement that is released after all seats left its round overturns nothing", () => {
    const attempt = attemptOf(4);
    const all = (answer: string) => [0, 1, 2, 3].map(() => ({ answer }));
    const first = addRound(emptyTally, attempt, 0, all("no"));
    assertFields(mbft.conclude(attempt, first), { "outcome.answer": "no" });
    const tally = addRound(first, attempt, 1, all("yes"));
    const conclusion = mbft.conclude(attempt, tally);
    assert.equal(conclusion.kind === "final" && conclusion.outcome.answer, "yes");
    assert.deepEqual(conclusion.kind === "final" && conclusion.through, { round: 1, phase: JUDGE });
  });

  for (const n of [4, 7, 10]) {
    it(`PH5: n = ${n}: seats from which f others withhold messages are not overlooked`, () => {
      const f = Math.floor((n - 1) / 3);
      const scripts = Array.from({ length: n }, (_, seat): SeatScript => {
        const script = { ...honest("yes"), thinkMs: 200 };
        const victims = (to: number): boolean => to >= f && to < 2 * f;
        return seat < f ? { ...script, hoards: true, say: (effect, to) => (victims(to) ? [] : [effect]) } : script;
      });
      const run = runCommittee(mbft, attemptOf(n), scripts, { latencyMs: 1 });
      for (const certificate of run.certificates.slice(f)) {
        assertFields(certificate?.decision, { status: "decided", answer: "yes" });
        assert.deepEqual(
          certificate?.decision.shares.slice(f),
          Array.from({ length: n - f }, () => SURE_RIGHT),
        );
      }
    });
  }
});
