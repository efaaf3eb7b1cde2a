import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { honestMind, respond } from "../../sim/model.ts";
import { planFor, isExpected } from "../../devnet/demo/questions.ts";
import { conflicting, lyingModel } from "../../devnet/world/lies.ts";
import { attemptOf, runCommittee, type SeatScript } from "../support/core/committee.ts";

const SEATS = 5;
const LIAR = 4;

describe("the demo's liar", () => {
  for (const protocol of protocols) {
    it(`${protocol.id}: its two versions of a message are both well formed, yield evidence, and stop no decision`, () => {
      const attempt = attemptOf(SEATS, { protocol: protocol.code });
      const honest: SeatScript = {
        answer: ({ prompt }) => ({
          fields: respond(
            { ...prompt.small, maxTokens: 0, seed: 0 },
            attempt.request.terms,
            honestMind(attempt, "yes"),
          ),
        }),
      };
      const scripts: SeatScript[] = Array.from({ length: SEATS }, () => honest);
      scripts[LIAR] = {
        ...honest,
        say: (effect, to) => {
          const second = to % 2 === 0 ? conflicting(effect, effect.payload) : null;
          return [second === null ? effect : { ...effect, payload: second }];
        },
      };
      const run = runCommittee(protocol, attempt, scripts);
      const effects = run.effects.filter((_, seat) => seat !== LIAR).flat();
      const malformed = effects.filter((effect) => effect.kind === "drop" && effect.reason === "malformed-payload");
      assert.deepEqual(malformed, []);
      const proven = effects.flatMap((effect) =>
        effect.kind === "evidence" ? [effect.evidence.first.header.seat] : [],
      );
      assert.deepEqual(new Set(proven), new Set([LIAR]));
      const honestSeats = run.certificates.filter((_, seat) => seat !== LIAR);
      assert.deepEqual(
        honestSeats.map((certificate) => certificate?.decision.answer),
        honestSeats.map(() => "yes"),
      );
    });
  }

  it("reverses answers, verdicts and marks, within what the form allows", async () => {
    const cases = [
      ["boolean", { answer: "yes" }, [{ name: "answer", enum: ["yes", "no"] }], { answer: "no" }],
      ["choice A-C", { answer: "B" }, [{ name: "answer", enum: ["A", "B", "C"] }], { answer: "A" }],
      ["number 0", { answer: "11" }, [{ name: "answer" }], { answer: "21" }],
      ["policies A-D", { answer: "A,C" }, [{ name: "answer" }], { answer: "B,D" }],
      ["policies A-B", { answer: "A,B" }, [{ name: "answer" }], { answer: "A" }],
      ["text", { answer: "It is due." }, [{ name: "answer" }], { answer: "It is not true that: It is due." }],
      [
        "boolean",
        { verdict: "accept" },
        [{ name: "verdict", enum: ["accept", "reject", "abstain"] }],
        { verdict: "reject" },
      ],
      [
        "text",
        { verdict: "same" },
        [{ name: "verdict", enum: ["same", "different", "abstain"] }],
        { verdict: "different" },
      ],
      ["boolean", { logic: "20" }, [{ name: "logic", enum: ["0", "12", "20"] }], { logic: "0" }],
    ] as const;
    for (const [kind, truth, properties, lie] of cases) {
      const liar = lyingModel(createMemoryModel(() => Promise.resolve(truth as never), { descriptor: "honest" }));
      const request = { system: "", user: `task: x\nkind: ${kind}`, schema: { properties }, confidenceOf: "answer" };
      const { fields, confidencePpm } = await liar.ask(request as never, new AbortController().signal);
      assert.deepEqual(fields, lie, kind);
      assert.equal(confidencePpm, 1_000_000);
    }
  });
});

describe("the demo's questions", () => {
  it("exist for every registered protocol, with an expected answer of their kind", () => {
    for (const { id } of protocols)
      for (const question of planFor(id).questions)
        assert.equal(isExpected(question, "decided", question.expected), true, question.question);
  });

  it("expect an answer by its canonical value, and no wrong one", () => {
    const [budget] = planFor("unanimous").questions;
    assert.equal(isExpected(budget!, "decided", "e, d,c"), true);
    assert.equal(isExpected(budget!, "decided", "C,D"), false);
    assert.equal(isExpected(budget!, "decided", ""), false);
    const [text] = planFor("council").questions;
    assert.equal(isExpected(text!, "decided", ` ${text!.expected} `), true);
    assert.equal(isExpected(text!, "decided", text!.expected.toUpperCase()), false);
  });
});
