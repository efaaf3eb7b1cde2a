import assert from "node:assert/strict";
import fc from "fast-check";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { modelFailed } from "../../agents/adapters/models/output.ts";
import { proposePrompt, revisePrompt } from "../../agents/core/prompts/task-prompt.ts";
import type { SeatIndex } from "../../agents/core/types.ts";
import type { Model } from "../../agents/ports/model.ts";
import { readPrompt, respond } from "../../sim/model.ts";
import { createAnswerBook } from "../eval/answer-book.ts";
import { attemptFor } from "../eval/attempt.ts";
import { badSeats, tryQuestion } from "../eval/evaluate.ts";
import { firstPrompt } from "../eval/first-prompt.ts";
import { poisoned } from "../eval/poison.ts";
import { formOf, questionsOf, type Question } from "../eval/question.ts";
import { selfConsistency } from "../eval/vote.ts";
import { assertAbove, assertWithin } from "../../test/support/assertions.ts";

import {
  bookOf,
  cellOf,
  evaluationOf,
  methodOf,
  minded,
  panelOf,
  question,
  seedWhere,
  terms,
  trialOf,
  truthful,
  twoOf,
} from "./support/evaluation.ts";

describe("eval: self-consistency", () => {
  it("takes as many samples as the tokens pay for, at least one", async () => {
    const attempt = attemptFor(question, 0, 4, "normal");
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 800 }), async (tokens) => {
        const vote = await selfConsistency(attempt, panelOf(truthful()), tokens, {
          promptOf: () => firstPrompt(attempt, question),
        });
        assert.equal(vote.samples, Math.min(64, Math.max(1, Math.floor(tokens / 10))));
        assert.equal(vote.tokens, 10 * vote.samples);
      }),
      { numRuns: 20 },
    );
  });

  it("begins with the seats' own first answers", async () => {
    const asked: number[] = [];
    const model = createMemoryModel((request) => {
      if (readPrompt(request.user).get("task") === "propose") asked.push(request.seed);
      return respond(request, terms, minded("63"));
    });
    const variant = { label: "", key: "", isGreedy: false, models: [model] };
    const book = createAnswerBook([variant, { ...variant, key: "greedy", isGreedy: true }], null);
    const trial = await trialOf("mbft", 0, book);
    // Its four samples are the answers of the four seats. Four more were asked, which the tokens do not pay for, and
    // one at temperature 0.
    assert.equal(trial.samples, 4);
    assert.equal(new Set(asked.filter((seed) => seed > 0)).size, 8);
    assert.equal(asked.length, 9);
  });
});

describe("eval: the panel", () => {
  it("P9: asks once more, cut short, if a prompt was too long, and counts both calls", async () => {
    const asked: string[] = [];
    const model = createMemoryModel((request) => {
      asked.push(request.user);
      if (asked.length === 1) throw modelFailed("scripted", "prompt-too-long", "on purpose");
      return respond(request, terms, minded("63"));
    });
    const panel = panelOf(createAnswerBook([{ label: "", key: "", isGreedy: false, models: [model] }], null));
    const prompt = revisePrompt(attemptFor(question, 0, 4, "normal"), null, ["x".repeat(500)]);
    assert.equal((await panel.ask(0, prompt.small)).kind, "answered");
    assert.deepEqual(asked, [prompt.small.user, ...(prompt.small.briefs ?? [])]);
    assert.deepEqual([panel.cost.calls, panel.cost.failed], [2, 1]);
  });
});

describe("eval: the answer book", () => {
  const folder = mkdtempSync(join(tmpdir(), "conclave-eval-"));
  after(() => rmSync(folder, { recursive: true }));
  const prompt = proposePrompt(attemptFor(question, 0, 4, "normal")).small;
  const request = { ...prompt, maxTokens: 512, seed: 7 };

  function counting(fails: string | null = null): { readonly calls: () => number; readonly model: Model } {
    let calls = 0;
    const model = createMemoryModel((asked) => {
      calls += 1;
      if (fails !== null) throw modelFailed("scripted", fails as "timeout", "on purpose");
      return respond(asked, terms, minded("63"));
    });
    return { model, calls: () => calls };
  }

  it("asks the same only once, in this run and the next, and skips a line that was cut", async () => {
    const path = join(folder, "answers.jsonl");
    const first = counting();
    const variant = { label: "", key: "a", isGreedy: false };
    const book = createAnswerBook([{ ...variant, models: [first.model] }], path);
    const answers = [await book.ask(0, request), await book.ask(0, request)];
    await Promise.all([book.ask(0, { ...request, seed: 8 }), book.ask(0, { ...request, seed: 8 })]);
    assert.equal(first.calls(), 2);
    assert.equal(book.asked.calls, 2);

    writeFileSync(path, `${readFileSync(path, "utf8")}{"key":"cut`);
    const second = counting();
    const again = createAnswerBook([{ ...variant, models: [second.model] }], path);
    assert.deepEqual(await again.ask(0, request), answers[0]);
    assert.deepEqual(answers[1], answers[0]);
    assert.equal(second.calls(), 0);
    await createAnswerBook([{ ...variant, key: "b", models: [second.model] }], path).ask(0, request);
    assert.equal(second.calls(), 1, "another model or sampling");
  });

  it("keeps failures that repeat, and asks again after other failures", async () => {
    for (const [kind, calls] of [
      ["truncated", 1],
      ["timeout", 2],
    ] as const) {
      const failing = counting(kind);
      const book = createAnswerBook([{ label: "", key: "", isGreedy: false, models: [failing.model] }], null);
      assert.deepEqual(await book.ask(0, request), { kind: "failed", reason: kind });
      await book.ask(0, request);
      assert.equal(failing.calls(), calls, kind);
    }
  });

  it("counts the same with and without kept answers", async () => {
    const book = truthful();
    const fresh = await trialOf("mbft", 1, book);
    assert.deepEqual(await trialOf("mbft", 1, book), fresh);
  });

  it("gives a greedy model no seeds", async () => {
    const { model, calls } = counting();
    const book = createAnswerBook([{ label: "", key: "", isGreedy: true, models: [model] }], null);
    await book.ask(0, request);
    await book.ask(0, { ...request, seed: 9 });
    assert.equal(calls(), 1);
  });

  it("gives samples of a greedy model seeds, and takes none for its one answer", async () => {
    const { model, calls } = counting();
    const book = createAnswerBook([{ label: "", key: "", isGreedy: true, models: [model] }], null);
    for (const seed of [1, 2, 1]) await book.ask(0, { ...request, seed, isSampled: true });
    assert.equal(calls(), 2);
    await book.ask(0, { ...request, seed: 1 });
    assert.equal(calls(), 3);
  });
});

describe("eval: committees", () => {
  it("decide with every protocol that takes the question, at its stated cost", async () => {
    const costs: Readonly<Record<string, readonly [calls: number, path: number]>> = {
      mbft: [4, 1],
      wbft: [8, 2],
      unanimous: [4, 1],
      council: [5, 2],
      debate: [13, 4],
    };
    for (const [id, [calls, criticalPath]] of Object.entries(costs)) {
      const trial = await trialOf(id, 0);
      assert.deepEqual(
        { status: trial.status, calls: trial.calls, criticalPath: trial.criticalPath },
        {
          status: "right",
          calls,
          criticalPath,
        },
        id,
      );
      assert.equal(trial.tokens, 10 * calls, id);
    }
  });

  it("wait for models in real time, which makes no seat late in virtual time", async () => {
    const trial = await trialOf(
      "mbft",
      0,
      bookOf(() => minded("63"), 500),
    );
    assert.deepEqual([trial.status, trial.calls, trial.criticalPath], ["right", 4, 1]);
  });

  it("bear one confident liar, whose proof the others judge", async () => {
    let proofs = 0;
    const book = bookOf((user) => {
      if (readPrompt(user).get("proof") === question.lie.proof) proofs += 1;
      return minded("63");
    });
    assert.equal((await trialOf("hashgraph", 1, book)).status, "right");
    assertAbove(proofs, 0);
  });

  it("certify the lie of a chair, while a vote of honest samples is right", async () => {
    const trial = await trialOf("council", 1, truthful(), seedWhere(true));
    assert.equal(trial.answer, "53");
    assert.equal(trial.status, "wrong");
    assert.equal(trial.rivals.selfConsistency.status, "right");
    assert.equal((await trialOf("council", 1, truthful(), seedWhere(false))).status, "right");
  });

  it("hang when models fail, and say what failed", async () => {
    const model = createMemoryModel(() => {
      throw modelFailed("scripted", "truncated", "on purpose");
    });
    const book = createAnswerBook(twoOf(model), null);
    const trial = await trialOf("mbft", 0, book);
    assert.equal(trial.status, "hung");
    assert.equal(trial.isRetried, true);
    assert.equal(trial.failedCalls, trial.calls);
    assert.equal(trial.tokens, 0);
  });

  it("refuse questions that their protocol does not take", async () => {
    const committee = { seats: 30, assurance: "normal", bad: new Map(), misled: new Set<SeatIndex>() } as const;
    assert.equal(typeof methodOf("council").refuses(question, committee), "string");
    assert.equal(methodOf("mbft").refuses(question, committee), null);
    const cell = cellOf("council", { seats: 30 });
    assert.equal(await tryQuestion(evaluationOf(truthful(), []), cell, { question, seed: 1 }), null);
  });

  it("have other bad seats by question and seed; more bad seats include fewer", () => {
    const drawn = (seed: number, count: number): readonly number[] => [
      ...badSeats({ seats: 7, badness: ["confident"], seed }, question, count).keys(),
    ];
    assert.deepEqual(drawn(1, 2).slice(0, 1), drawn(1, 1));
    assertAbove(new Set([1, 2, 3, 4, 5, 6].map((seed) => drawn(seed, 1)[0])).size, 1);
  });
});

describe("eval: look-up with one poisoned source", () => {
  const text = "Policy: (1) refunds within 30 days; (2) item unused. Claim: day 12, unused. Is the refund due?";
  const proof = "c1 12 max 30 ok; c2 unused ok";
  const read = poisoned(text, "yes", proof) as string;

  it("has questions whose poisoned reading differs, and no question that liars decide", async () => {
    for (const one of questionsOf("lookup", 10, 1)) assert.notEqual(one.poisoned, one.text);
    const asked: string[] = [];
    const looked: Question = {
      ...question,
      suite: "lookup",
      text,
      form: formOf("boolean"),
      truth: "yes",
      poisoned: read,
    };
    const model = createMemoryModel((request) => {
      const held = readPrompt(request.user).get("question") ?? "";
      asked.push(held);
      assert.notEqual(readPrompt(request.user).get("proof"), question.lie.proof);
      const answer = held === read ? "no" : "yes";
      return respond(request, attemptFor(looked, 0, 4, "normal").request.terms, {
        answer,
        approves: (other) => other === answer,
      });
    });
    const book = createAnswerBook(twoOf(model), null);
    // A misled seat does not lie: as the first leader it is heard three times, like any seat that answers.
    const calls = { mbft: 4, "fixed-leader-debate": 16 };
    for (const [id, expected] of Object.entries(calls)) {
      const method = methodOf(id);
      asked.length = 0;
      const cell = cellOf(id, { byzantine: 1 }, "lookup");
      const trial = await tryQuestion(evaluationOf(book, [method]), cell, { question: looked, seed: 1 });
      assert.deepEqual([trial?.status, trial?.calls], ["right", expected], id);
      assert.equal(trial?.rivals.selfConsistency.status, "right", id);
      assertWithin(asked.filter((held) => held === read).length, 1, asked.length / 3, id);
      // Without a misled seat they are the questions of `policy`, and are not counted twice.
      assert.equal(
        await tryQuestion(evaluationOf(book, [method]), cellOf(id, {}, "lookup"), { question: looked, seed: 1 }),
        null,
      );
    }
  });
});

describe("eval: baselines", () => {
  it("agree on the truth when nobody is bad", async () => {
    const calls = { "decentllms-best": 16, "fixed-leader-debate": 4, "early-stop": 4 };
    for (const [id, expected] of Object.entries(calls)) {
      const trial = await trialOf(id, 0);
      assert.deepEqual([trial.status, trial.calls], ["right", expected], id);
    }
  });

  it("fixed-leader-debate: the bad leader has its three rounds, then the next leader follows", async () => {
    const trial = await trialOf("fixed-leader-debate", 1);
    // Three proposals and three votes of three, then one of each.
    assert.deepEqual([trial.status, trial.calls, trial.criticalPath], ["right", 3 * 4 + 4, 8]);
  });

  it("fixed-leader-debate: hangs when no leader finds a majority", async () => {
    let verdicts = 0;
    // One of three accepts: with the leader's own that is half of the seats.
    const book = bookOf(() => ({ answer: "63", approves: () => verdicts++ % 3 === 0 }));
    const trial = await trialOf("fixed-leader-debate", 0, book);
    assert.deepEqual([trial.status, trial.isRetried, trial.calls], ["hung", true, 2 * 2 * 3 * 4]);
  });

  it("decentllms: takes the best answer, or the one that a quorum lets pass", async () => {
    // Prompts do not tell seats apart, so the lie's low marks stand at one seat of four.
    for (const id of ["decentllms-best", "decentllms-two-thirds", "decentllms-majority"])
      assert.equal((await trialOf(id, 1)).status, "right", id);
  });

  it("early-stop: refines while less than two thirds agree, and hangs after three refinements", async () => {
    let asked = 0;
    const book = bookOf(() => minded(String(asked++ % 2)));
    const trial = await trialOf("early-stop", 0, book);
    assert.deepEqual([trial.status, trial.isRetried, trial.calls, trial.criticalPath], ["hung", true, 2 * 16, 2 * 4]);
  });
});
