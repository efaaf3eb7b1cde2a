import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { proposePrompt } from "../../agents/core/prompts/task-prompt.ts";
import type { Ppm } from "../../agents/core/types.ts";
import { respond } from "../../sim/model.ts";
import { createRandom } from "../../sim/random.ts";
import { createAnswerBook } from "../eval/answer-book.ts";
import { attemptFor } from "../eval/attempt.ts";
import type { Condition } from "../eval/conditions.ts";
import { badSeats, tryQuestion } from "../eval/evaluate.ts";
import { type Method } from "../eval/methods.ts";
import { assertAbove } from "../../test/support/assertions.ts";

import {
  cellOf,
  evaluationOf,
  methodOf,
  minded,
  question,
  terms,
  trialOf,
  truthful,
  twoOf,
} from "./support/evaluation.ts";

describe("eval: a hung committee", () => {
  it("tries once more, and pays for both", async () => {
    let attempts = 0;
    const method: Method = {
      ...methodOf("mbft"),
      async decide(_question, committee, panel) {
        attempts += 1;
        await panel.ask(0, proposePrompt(attemptFor(question, 0, 4, "normal")).small);
        return committee.attempt === 1
          ? { status: "decided", answer: "63", confidence: 800_000 as Ppm, criticalPath: 2 }
          : { status: "hung", answer: null, confidence: null, criticalPath: 3 };
      },
    };
    const cell = { ...cellOf("mbft"), method };
    const trial = await tryQuestion(evaluationOf(truthful(), [method]), cell, { question, seed: 1 });
    assert.deepEqual(
      [trial?.status, trial?.isRetried, trial?.confidence, trial?.calls, trial?.criticalPath],
      ["right", true, 800_000, 2, 5],
    );
    assert.equal(attempts, 2);
    assert.equal((await trialOf("mbft", 0)).isRetried, false);
  });
});

describe("eval: rivals", () => {
  it("are attacked by as many liars as the protocol, and those without liars are not", async () => {
    const wrong = { status: "wrong", grade: 0 };
    const right = { status: "right", grade: 1 };
    for (let seed = 1; seed <= 5; seed++) {
      const { rivals } = await trialOf("mbft", 1, truthful(), seed);
      const { greedySeat, ...others } = rivals;
      for (const [rival, mark] of Object.entries(others)) assert.deepEqual(mark, right, rival);
      const [bad] = badSeats({ seats: 4, badness: ["confident"], seed }, question, 1).keys();
      const trusted = createRandom(seed, `greedy seat ${question.text}`).pick([0, 1, 2, 3]);
      assert.deepEqual(greedySeat, trusted === bad ? wrong : right);
    }
    // Two of four seats lie: the vote is a draw, and all that is honest stays right.
    const drawn = await Promise.all(
      Array.from({ length: 12 }, async (_, seed) => (await trialOf("mbft", 2, truthful(), seed)).rivals),
    );
    assert.equal(new Set(drawn.map(({ vote }) => vote.status)).size, 1, "ties are drawn by the question");
    for (const own of drawn)
      assert.deepEqual([own.selfConsistency, own.bestGreedy, own.honestSeat], [right, right, right]);
  });

  it("count samples of bad seats as lies, at the tokens of the decision", async () => {
    const cell = cellOf("mbft", { byzantine: 3 });
    const trial = await tryQuestion(evaluationOf(truthful(), [cell.method]), cell, { question, seed: 1 });
    assert.equal(trial?.rivals.counting.status, "wrong");
    assert.equal(trial?.rivals.vote.status, "wrong");
    assert.equal(trial?.rivals.selfConsistency.status, "right");
    assert.equal(trial?.samples, Math.min(64, trial?.tokens === undefined ? 0 : trial.tokens / 10));
  });
});

describe("eval: seats", () => {
  const skillsIn = async (liars: Condition["liars"]): Promise<readonly number[]> => {
    let seen: readonly number[] = [];
    const method: Method = {
      ...methodOf("clo"),
      async decide(_question, { skills = [] }) {
        seen = skills;
        return { status: "decided", answer: "63", confidence: null, criticalPath: 1 };
      },
    };
    const cell = { ...cellOf("clo", { byzantine: 1, liars }), method };
    await tryQuestion(evaluationOf(truthful(), [method]), cell, { question, seed: 1 });
    return seen;
  };

  it("have learned skills; a caught liar's is the least, a trusted one's the greatest", async () => {
    assert.deepEqual(
      (await skillsIn("caught")).toSorted((a, b) => a - b),
      [1, 3, 3, 3],
    );
    assert.deepEqual(await skillsIn("trusted"), [3, 3, 3, 3]);
  });

  it("are confident by their calibration if they are calibrated", async () => {
    // The curve makes 0.4 of every confidence: low tiers, which the plain vote of mbft weighs less.
    const [sampled, calibrated] = await Promise.all([
      trialOf("mbft", 0),
      trialOf("mbft", 0, truthful(), 1, { seating: "calibrated" }),
    ]);
    assertAbove(sampled.confidence ?? 0, calibrated.confidence ?? 0);
  });

  it("answer at temperature 0 if they are greedy", async () => {
    const asked = new Set<number>();
    const model = createMemoryModel((request) => {
      asked.add(request.seed);
      return respond(request, terms, minded("63"));
    });
    const trial = await trialOf("council", 0, createAnswerBook(twoOf(model), null), 1, { seating: "greedy" });
    assert.equal(trial.status, "right");
    assert.equal(asked.has(0), true);
  });
});
