import assert from "node:assert/strict";
import fc from "fast-check";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { modelFailed } from "../../agents/adapters/models/output.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { proposePrompt, revisePrompt } from "../../agents/core/prompts/task-prompt.ts";
import type { Ppm, SeatIndex } from "../../agents/core/types.ts";
import type { Model } from "../../agents/ports/model.ts";
import { readPrompt, respond, type Mind } from "../../sim/model.ts";
import { agrees } from "../../sim/plan.ts";
import { createRandom } from "../../sim/random.ts";
import { createAnswerBook, type AnswerBook, type Variant } from "../eval/answer-book.ts";
import { attemptFor } from "../eval/attempt.ts";
import type { CellKey, Condition } from "../eval/conditions.ts";
import { badSeats, tryQuestion, type Cell, type Evaluation, type Trial } from "../eval/evaluate.ts";
import { openJsonLines } from "../eval/json-lines.ts";
import type { Lessons } from "../eval/lessons.ts";
import type { Mark } from "../eval/mark.ts";
import { METHODS, type Method } from "../eval/methods.ts";
import { poisoned } from "../eval/poison.ts";
import { createPanel, type Panel } from "../eval/panel.ts";
import { formOf, questionsOf, type Question, type Suite } from "../eval/question.ts";
import { reportText } from "../eval/report.ts";
import { runEvaluation } from "../eval/run.ts";
import { independenceOf, pooled, summarize } from "../eval/summary.ts";
import { findingsOf } from "../eval/targets.ts";
import { selfConsistency } from "../eval/vote.ts";
import { assertAbove, assertExcludes, assertIncludes, assertWithin } from "../../test/support/assertions.ts";

const question: Question = {
  suite: "arithmetic",
  text: "What is 25 + 38?",
  form: formOf("number 0"),
  truth: "63",
  lie: { answer: "53", proof: "25+38: 5+8=13; 2+3=5; 53" },
};
const { terms } = attemptFor(question, 0, 4, "normal").request;

/** Answers with the current mind's answer, after some real time; every answer costs 10 tokens. */
function bookOf(mindOf: (user: string) => Mind, realMs = 0): AnswerBook {
  const memory = createMemoryModel((request) => respond(request, terms, mindOf(request.user)), {
    confidence: () => 900_000,
  });
  const model: Model = {
    ...memory,
    async ask(request, signal) {
      if (realMs > 0) await sleep(realMs);
      return { ...(await memory.ask(request, signal)), promptTokens: 9, outputTokens: 1 };
    },
  };
  const scripted = { label: "scripted", key: "scripted", isGreedy: false, models: [model] };
  return createAnswerBook([scripted, { ...scripted, key: "greedy", isGreedy: true }], null);
}

const twoOf = (model: Model): readonly Variant[] => {
  const variant = { label: "", key: "", isGreedy: false, models: [model] };
  return [variant, { ...variant, key: "greedy", isGreedy: true }];
};
const minded = (answer: string): Mind => ({ answer, approves: (other) => agrees(terms, other, answer) });
const truthful = (): AnswerBook => bookOf(() => minded("63"));
const panelOf = (book: AnswerBook): Panel => createPanel({ book, question, seed: 1, variantOf: () => 0 });
const methodOf = (id: string): Method => METHODS.find((one) => one.id === id) as Method;

const LESSONS: Lessons = {
  questions: new Set(),
  greedyRight: [60],
  sampledRight: [60],
  skills: [3],
  curves: [{ answer: { steps: [{ from: 0, right: 3, of: 8 }] } }],
};
const PLAIN: Condition = {
  mix: "homogeneous",
  seats: 4,
  seating: "sampled",
  assurance: "normal",
  byzantine: 0,
  liars: "caught",
};

/** The book has the model, and the same at temperature 0. */
function evaluationOf(book: AnswerBook, methods: readonly Method[], seed = 1): Evaluation {
  return {
    book,
    models: 1,
    lessons: LESSONS,
    methods,
    leading: methods,
    recommended: null,
    thinning: 1,
    mixes: ["homogeneous"],
    questions: [{ question, seed }],
    seats: [4],
    seatings: ["sampled"],
    assurances: ["normal"],
    liars: ["caught"],
    byzantine: [0, 1],
    badness: ["confident"],
  };
}

function cellOf(id: string, changed: Partial<Condition> = {}, suite: Suite = "arithmetic"): CellKey {
  return { suite, condition: { ...PLAIN, ...changed }, method: methodOf(id), every: 1 };
}

async function trialOf(
  id: string,
  byzantine: number,
  book = truthful(),
  seed = 1,
  changed: Partial<Condition> = {},
): Promise<Trial> {
  const cell = cellOf(id, { byzantine, ...changed });
  return (await tryQuestion(evaluationOf(book, [cell.method]), cell, { question, seed })) as Trial;
}

describe("eval: self-consistency", () => {
  it("takes as many samples as the tokens pay for, at least one", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 800 }), async (tokens) => {
        const vote = await selfConsistency(attemptFor(question, 0, 4, "normal"), panelOf(truthful()), tokens);
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
    assert.deepEqual(asked, [prompt.small.user, prompt.small.brief]);
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
});

/** A seed by which the seat that is bad is, or is not, the first in canonical order. */
function seedWhere(isFirst: boolean): number {
  const chair = canonicalOrder(attemptFor(question, 0, 4, "normal"))[0] as SeatIndex;
  for (let seed = 1; ; seed++)
    if (badSeats({ seats: 4, badness: ["confident"], seed }, question, 1).has(chair) === isFirst) return seed;
}

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
    assert.equal((await trialOf("mbft", 1, book)).status, "right");
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
    const calls = { mbft: 20, "fixed-leader-debate": 16 };
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
    for (const { selfConsistency, bestGreedy, honestSeat } of drawn)
      assert.deepEqual([selfConsistency, bestGreedy, honestSeat], [right, right, right]);
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
    assert.deepEqual((await skillsIn("caught")).toSorted(), [1, 3, 3, 3]);
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

const keptFolder = mkdtempSync(join(tmpdir(), "conclave-eval-"));
after(() => rmSync(keptFolder, { recursive: true }));

describe("eval: runs and reports", () => {
  const provenance = { command: "npm run eval", seeds: [1], commit: "abc", machine: "none", models: [], seconds: 1 };

  const run = async (
    methods: readonly Method[],
    seed: number,
    questions = [question],
    book = openJsonLines<Trial>(null),
    isOver = false,
    thinning = 1,
  ): Promise<readonly Cell[]> => {
    const posed = questions.map((one) => ({ question: one, seed }));
    const evaluation = { ...evaluationOf(truthful(), methods, seed), questions: posed, thinning };
    return await runEvaluation(
      evaluation,
      book,
      () => isOver,
      () => {},
    );
  };

  it("name first what each protocol misses, then all numbers", async () => {
    const cells = await run([methodOf("council"), methodOf("mbft")], seedWhere(true));
    assert.deepEqual(
      cells.map(({ method, condition }) => `${method.id} ${condition.byzantine}`),
      ["council 0", "mbft 0", "council 1", "mbft 1"],
    );
    const [first = "", decided = "", rivals = "", suites = "", committees = "", certificates = ""] = reportText(
      cells,
      provenance,
    ).split("####");
    assertIncludes(first, "What is missed");
    assertIncludes(first, "* `council`: missed");
    assertIncludes(decided, "| `council` | n = 4, 1 caught liar, one model | 1 | 0.0 (0.0 to 79.3) |");
    assertIncludes(rivals, "| `mbft` | n = 4, nobody bad, one model | 100.0: 0.0 (");
    assertIncludes(suites, "| 0.0 / 0.0 / 100.0 (100.0) |");
    assertIncludes(committees, "| n = 4, one model | 1 | 100.0 | none | none | 0.0 (0.0 to 79.3) | 0.0 |");
    assertIncludes(certificates, "| `council` | n = 4, 1 caught liar, one model |");
  });

  /** Trials of which `right` are right, and `rivals` of each rival's. */
  function trialsWith(right: number, rivals: number, of: number, changed: Partial<Trial> = {}): readonly Trial[] {
    const mark = (isRight: boolean): Mark => ({ status: isRight ? "right" : "wrong", grade: Number(isRight) });
    return Array.from({ length: of }, (_, index) => {
      const rival = mark(index < rivals);
      return {
        ...mark(index < right),
        question: String(index),
        seed: 1,
        answer: "63",
        confidence: 900_000 as Ppm,
        isRetried: false,
        calls: 4,
        failedCalls: 0,
        tokens: 10,
        criticalPath: 1,
        seatsRight: [index % 2 === 0, index % 2 === 0, true, false],
        samples: 1,
        rivals: {
          selfConsistency: rival,
          bestSingle: rival,
          bestGreedy: mark(false),
          vote: rival,
          counting: rival,
          greedySeat: rival,
          honestSeat: rival,
        },
        ...changed,
      };
    });
  }
  const filled = (trials: readonly Trial[], changed: Partial<Condition> = {}): Cell => ({
    ...cellOf("mbft", changed),
    trials,
  });
  const foundIn = (cells: readonly Cell[]): Readonly<Record<string, string>> =>
    Object.fromEntries(findingsOf(pooled(cells).map(summarize)).map(({ target, verdict }) => [target, verdict]));

  it("find a target kept, missed or open by its margin and its interval", () => {
    const liars = { byzantine: 1 } as const;
    const high = { assurance: "high" } as const;
    const good = foundIn([
      filled(trialsWith(900, 900, 1000)),
      filled(trialsWith(900, 800, 1000), liars),
      filled(trialsWith(900, 900, 1000), { ...liars, liars: "trusted" }),
      filled(trialsWith(995, 900, 1000), high),
    ]);
    assert.deepEqual(good, {
      nobodyBad: "kept",
      overCounting: "kept",
      honestSeat: "kept",
      trusted: "kept",
      hung: "kept",
      calibration: "kept",
      highAssurance: "kept",
    });
    const bad = foundIn([
      filled(trialsWith(700, 900, 1000, { isRetried: true })),
      filled(trialsWith(700, 900, 1000), liars),
      filled(trialsWith(700, 900, 1000), { ...liars, liars: "trusted" }),
      filled(trialsWith(700, 900, 1000), high),
    ]);
    assert.deepEqual(bad, {
      nobodyBad: "missed",
      overCounting: "missed",
      honestSeat: "missed",
      trusted: "missed",
      hung: "kept",
      calibration: "missed",
      highAssurance: "missed",
    });
    // Ten questions show nothing.
    assert.equal(foundIn([filled(trialsWith(9, 9, 10))])["nobodyBad"], "open");
    const hung = trialsWith(0, 0, 100, { status: "hung", answer: null, confidence: null });
    assert.equal(foundIn([filled(hung)])["hung"], "missed");
  });

  it("hold a protocol against the better of self-consistency and best greedy", () => {
    const { rivals } = summarize(filled(trialsWith(50, 60, 100)));
    assert.deepEqual([rivals.selfConsistency.difference.share, rivals.bestGreedy.difference.share], [-0.1, 0.5]);
    const [finding] = findingsOf(pooled([filled(trialsWith(50, 60, 100))]).map(summarize));
    assert.equal(finding?.value, -0.1);
  });

  it("tell how much seats err together, and what the surest decisions are worth", () => {
    const [row] = independenceOf(pooled([filled(trialsWith(5, 5, 10))]));
    // Two seats err together; the others never vary.
    assert.deepEqual([row?.correlation, row?.effective, row?.seat], [1, 1, 0.5]);
    assert.equal(row?.allWrong.share, 0);
    const halves = [
      ...trialsWith(50, 50, 50, { confidence: 990_000 as Ppm }),
      ...trialsWith(20, 0, 40, { confidence: 500_000 as Ppm }),
      ...trialsWith(0, 0, 10, { status: "hung", answer: null, confidence: null }),
    ];
    const { coverage, calibrationError } = summarize(filled(halves));
    assert.deepEqual(
      coverage.map(({ wrong }) => (wrong === null ? null : Math.round(wrong * 1000))),
      [0, 83, 143, 188, 222, null],
    );
    assert.equal(calibrationError, Math.round(((50 * 0.01) / 90) * 1e6) / 1e6);
  });

  it("start no further question when the time is over, and have the same questions in every cell", async () => {
    const questions = [question, { ...question, text: "What is 26 + 37?" }];
    const methods = [methodOf("fixed-leader-debate"), methodOf("early-stop")];
    const counts = async (isOver: boolean): Promise<readonly number[]> =>
      (await run(methods, 1, questions, openJsonLines<Trial>(null), isOver)).map(({ trials }) => trials.length);
    assert.deepEqual(await counts(true), [1, 1, 1, 1]);
    assert.deepEqual(await counts(false), [2, 2, 2, 2]);
  });

  it("leave out questions of cells that have one in so many", async () => {
    const questions = [26, 27, 28, 29, 30].map((number) => ({ ...question, text: `What is ${number} + 37?` }));
    const cells = await run([methodOf("council")], 1, questions, openJsonLines<Trial>(null), false, 4);
    assert.deepEqual(
      cells.map(({ trials }) => trials.map((trial) => trial.question)),
      [0, 1].map(() => ["What is 26 + 37?", "What is 30 + 37?"]),
    );
  });

  it("run no trial again that was kept, also after a line was cut", async () => {
    const path = join(keptFolder, "trials.jsonl");
    const method = methodOf("council");
    const first = await run([method], 1, [question], openJsonLines<Trial>(path));
    writeFileSync(path, `${readFileSync(path, "utf8")}{"key":"cut`);
    let decisions = 0;
    const counting: Method = {
      ...method,
      async decide(...given) {
        decisions += 1;
        return await method.decide(...given);
      },
    };
    const again = await run([counting], 1, [question], openJsonLines<Trial>(path));
    assert.equal(decisions, 0);
    assert.deepEqual(
      again.map(({ trials }) => trials),
      first.map(({ trials }) => trials),
    );
    await run([counting], 2, [question], openJsonLines<Trial>(path));
    assert.equal(decisions, 2, "another seed");
    await run([counting], 2, [question], openJsonLines<Trial>(path));
    assert.equal(decisions, 2, "a kept trial after the cut line");
  });
});
