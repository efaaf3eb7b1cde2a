import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { unreadAnswer } from "../../agents/core/request/answer.ts";
import { isReadable } from "../../agents/core/request/text.ts";
import { utf8 } from "../../agents/core/encoding/bytes.ts";
import { limits } from "../../agents/core/limits.ts";
import { revealForm } from "../../agents/core/phases/proposals.ts";
import { council } from "../../agents/core/protocols/council.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { mbftBayesian } from "../../agents/core/protocols/mbft-bayesian/index.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { unanimous } from "../../agents/core/protocols/unanimous/index.ts";
import type { PayloadMap } from "../../agents/core/protocol.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import type { Attempt, SeatIndex, Terms, Value } from "../../agents/core/types.ts";
import { attemptOf, runCommittee, type CommitteeRun, type SeatScript } from "../support/core/committee.ts";
import { believing, failingAt } from "../support/core/council-scripts.ts";
import { honest } from "../support/core/mbft-scripts.ts";
import { anyText } from "../support/any-text.ts";

const number: Partial<Terms> = { kind: "number", decimals: 0 };

function asking(attempt: Attempt, question: string): Attempt {
  return { ...attempt, request: { ...attempt.request, question } };
}

/** What the seat that knows most says about a run that hung. */
function reasonsOf(protocol: Pick<typeof mbft, "explain">, attempt: Attempt, run: CommitteeRun): readonly string[] {
  const all = run.states.map(({ tally }) => protocol.explain?.(attempt, tally) ?? []);
  for (const one of all) assert.deepEqual(one, all[0]);
  return all[0] ?? [];
}

/** A seat whose model says such an answer to all that it is asked. */
function saying(answer: string, confidence = 900_000): SeatScript {
  return { answer: () => ({ fields: { proof: "p", answer, check: "so", verdict: "abstain" }, confidence }) };
}

const failing: SeatScript = { answer: () => null };

describe("PH14: why a committee hangs, in words", () => {
  it("mbft: says the weight beside the one that is needed, where too few agree to be counted and nobody is sure", () => {
    const attempt = attemptOf(5);
    const scripts = Array.from({ length: 5 }, (_, seat) => (seat < 3 ? honest("yes", 300_000) : failing));
    const run = runCommittee(mbft, attempt, scripts);
    assert.equal(run.certificates[0]?.decision.status, "hung");
    assert.deepEqual(reasonsOf(mbft, attempt, run), [
      "seat 3: the model failed: crashed",
      "seat 4: the model failed: crashed",
      "'yes': weight 0.90 of 2.25 needed; accepted by 3 of 5 seats, more than 1/2 needed",
    ]);
  });

  it("mbft: says what each seat answered that is no answer, and how models failed", () => {
    const attempt = asking(attemptOf(4, number), "What is 2 + 2?");
    const run = runCommittee(mbft, attempt, [saying("2 + 2 = 4"), failing, saying("4"), saying("")]);
    assert.equal(run.certificates[0]?.decision.status, "hung");
    assert.deepEqual(reasonsOf(mbft, attempt, run), [
      "seat 0: answer '2 + 2 = 4' is no whole number",
      "seat 1: the model failed: crashed",
      "seat 3: an empty answer is no whole number",
      "'4': weight 0.90 of 1.80 needed; accepted by 1 of 4 seats, more than 1/2 needed",
    ]);
  });

  it("tells a model that gave no answer in time from one that failed, and from an answer of another kind", () => {
    const attempt = asking(attemptOf(7, number), "What is 2 + 2?");
    // Two thirds are needed to go on: the others wait until the phase ends.
    const late: SeatScript = { ...saying("4"), thinkMs: 11_000 };
    const away: SeatScript = { ...saying("4"), crashed: true };
    const run = runCommittee(mbft, attempt, [saying("about 4"), failing, late, late, away, saying("4"), saying("5")]);
    const { tally } = run.states[0]!;
    assert.deepEqual(mbft.explain?.(attempt, tally).slice(0, 5), [
      "seat 0: answer 'about 4' is no whole number",
      "seat 1: the model failed: crashed",
      "seat 2: the model gave no answer in time",
      "seat 3: the model gave no answer in time",
      "seat 4: nothing came from it: it is slow or away",
    ]);
  });

  const seats = ["seat 1: the model failed: crashed", "seat 2: answer '2 + 2 = 4' is no whole number"];
  const counted = ["'4': answered by 1 of 4 seats", "'5': answered by 1 of 4 seats"];
  const weighed = counted.map((one) =>
    one.replace(/answered.*/u, "weight 0.90 of 1.80 needed; accepted by 1 of 4 seats, more than 1/2 needed"),
  );
  const ordered = counted.map((one) => `${one} in round 3; more than 2/3 needed in two rounds in a row, or the ballot`);
  const expected: Readonly<Record<string, readonly string[]>> = {
    mbft: [...seats, ...weighed],
    "mbft-bayesian": [...seats, ...counted, "2 of 4 seats gave an answer, more than 1/2 needed"],
    wbft: [
      ...seats,
      ...counted,
      "view 3: its leader, seat 3, proposed '5': prepared by 1 of 4 seats with 25.80 % of the weight, final by 0 of 4 seats with 0.00 % of the weight, more than 1/2 and 2/3 needed",
    ],
    // Reasons of the second round, in which one seat is asked.
    leaderless: seats.slice(1),
    unanimous: [...seats, ...counted],
    hashgraph: [...[1, 2].map((seat) => `seat ${seat}: it gave no answer that counts in round 3`), ...ordered],
    council: [...seats, ...counted, "seat 1, the last chair, concluded with no answer that counts"],
    debate: [...seats, ...counted, "seat 1, the last chair, concluded with no answer that counts"],
    adversarial: ["seat 2 drafted no answer that counts"],
    escalating: [...seats, ...weighed],
  };
  for (const protocol of protocols)
    it(`${protocol.id}: says of each seat and answer what it lacks`, () => {
      const attempt = asking(attemptOf(4, { ...number, protocol: protocol.code }), "What is 2 + 2?");
      // Nobody who has to conclude from others' answers can.
      const scripts = [believing("4"), failing, believing("2 + 2 = 4"), believing("5")].map((script) =>
        failingAt(script, "synthesize"),
      );
      const run = runCommittee(protocol, attempt, scripts);
      const isHung = run.certificates.find((one) => one !== null)?.decision.status === "hung";
      const reasons = reasonsOf(protocol, attempt, run);
      const all = expected[protocol.id];
      // What a protocol says that is not named above is tested with its own rules.
      if (all === undefined) return assert.equal(reasons.length > 0, isHung);
      assert.ok(isHung);
      assert.deepEqual(reasons, all);
    });

  it("mbft-bayesian: says what posterior and lead are needed", () => {
    const attempt = attemptOf(4, { protocol: mbftBayesian.code });
    const last = (...scripts: readonly SeatScript[]): string | undefined =>
      reasonsOf(mbftBayesian, attempt, runCommittee(mbftBayesian, attempt, scripts)).at(-1);
    const [yes, no] = [saying("yes"), saying("no")];
    assert.equal(
      last(yes, yes, no, no),
      "no answer has more weight of evidence than every other, nor than none of them",
    );
    assert.equal(
      last(yes, yes, failing, no),
      "'yes': posterior 79.35 % of 90.00 % needed; its lead over the next answer is too small without f of its reports (f = 1)",
    );
  });

  it("has nothing to say before a round is complete, and is a part of every phased protocol", () => {
    const attempt = attemptOf(4);
    for (const protocol of [mbft, unanimous, council]) assert.deepEqual(protocol.explain?.(attempt, emptyTally), []);
  });

  it("a reveal may say why there is no proposal, within bounds, and not beside a proposal", () => {
    const attempt = attemptOf(4);
    const slot = { seat: 1 as SeatIndex, round: 0, phase: revealForm.phase };
    const seen = { seen: [attempt.committee.map(() => null)] };
    const rejects = (body: PayloadMap): string | null => mbft.rejectPayload(attempt, slot, { ...body, ...seen });
    const of = (why: Value, proposal: Value = null): string | null => rejects({ proposal, why });
    assert.equal(rejects({ proposal: null }), null);
    assert.equal(of("answer 'x' is no whole number"), null);
    const long = "x".repeat(limits.whyBytes + 1);
    for (const why of ["", long, "a\nb", "\u202e", 5, null]) assert.equal(of(why), "malformed-payload", String(why));
    const proposal = { answer: "yes", proof: "", tier: 900_000, salt: new Uint8Array(32) };
    assert.equal(rejects({ proposal }), null);
    assert.equal(of("because", proposal), "malformed-payload");
  });

  it("property: the words for any text are readable and fit into a message", () => {
    const kinds: readonly Partial<Terms>[] = [
      { kind: "boolean" },
      { kind: "choice", options: 26 },
      { kind: "number", decimals: 18 },
      { kind: "text" },
      { kind: "policies", options: 26 },
    ];
    const { terms } = attemptOf(4).request;
    const text = fc.oneof(anyText({ maxLength: 300 }), fc.constantFrom("中".repeat(100), "\u202e"));
    fc.assert(
      fc.property(text, fc.constantFrom(...kinds), (answer, kind) => {
        const words = unreadAnswer({ terms: { ...terms, ...kind } }, answer);
        assert.equal(isReadable(words), true);
        assert.ok(utf8(words).length <= limits.whyBytes, words);
        assert.match(words, / is no /);
      }),
    );
  });
});

describe("a text that all seats give", () => {
  const text = `Berlin, ${"which is a large city on the Spree ".repeat(6)}`.trim();
  for (const protocol of protocols)
    it(`${protocol.id}: is decided, however long it is and however unsure the seats are`, () => {
      for (const n of [4, 5, 7])
        for (const assurance of ["normal", "high"] as const) {
          const attempt = attemptOf(n, { protocol: protocol.code, kind: "text", assurance });
          if (assurance === "high" && protocol.refuseRequest(attempt) !== null) continue;
          const scripts = attempt.committee.map((_, seat): SeatScript => {
            const { answer } = believing(text, `steps of ${seat}`);
            return { answer: (ask) => ({ ...answer(ask)!, confidence: 0 }) };
          });
          const { certificates } = runCommittee(protocol, attempt, scripts);
          const { status, answer } = certificates.find((one) => one !== null)!.decision;
          assert.deepEqual([status, answer], ["decided", text], `n = ${n}, ${assurance}`);
        }
    });
});
