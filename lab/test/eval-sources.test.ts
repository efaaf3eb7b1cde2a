// Questions whose rules stand at sources: every seat reads them, and some are shown poisoned ones.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { readPrompt, respond, sourcesIn } from "../../sim/model.ts";
import { createAnswerBook, type AnswerBook } from "../eval/answer-book.ts";
import { attemptFor } from "../eval/attempt.ts";
import { tryQuestion, type Trial } from "../eval/evaluate.ts";
import { firstPrompt } from "../eval/first-prompt.ts";
import { optionsFrom } from "../eval/options.ts";
import { questionsOf, type Question } from "../eval/question.ts";
import { solutionsOf } from "../eval/solver.ts";
import { cellOf, evaluationOf, methodOf, twoOf } from "./support/evaluation.ts";

/** Reads as the solver does, and cites the first page where it finds an answer. */
function readers(question: Question, asked: string[]): AnswerBook {
  const { terms } = attemptFor(question, 0, 4, "normal").request;
  const model = createMemoryModel((request) => {
    asked.push(request.user);
    const shown = sourcesIn(readPrompt(request.user));
    const texts = shown.map(({ text }) => text);
    const [answer = "unanswerable"] = solutionsOf("told", question.text, question.form, texts);
    const found = shown.find(({ text }) => solutionsOf("told", question.text, question.form, [text])[0] === answer);
    const quoted =
      answer === "unanswerable" || found === undefined
        ? { words: "", source: "A" }
        : { words: found.text, source: found.name };
    return respond(request, terms, { answer, approves: (other) => other === answer, quoted });
  });
  return createAnswerBook(twoOf(model), null);
}

async function trialOn(question: Question, id: string, byzantine: number, asked: string[] = []): Promise<Trial | null> {
  const evaluation = evaluationOf(readers(question, asked), [methodOf(id)]);
  return await tryQuestion(evaluation, cellOf(id, { byzantine }, question.suite), { question, seed: 1 });
}

describe("eval: questions whose rules stand at sources", () => {
  const [told] = questionsOf("told", 1, 1) as [Question];
  const [silent] = questionsOf("silent", 1, 1) as [Question];

  for (const id of ["mbft", "clo", "wbft", "leaderless", "unanimous"])
    for (const question of [told, silent])
      it(`${question.suite}: ${id} decides what most seats are shown, with one of four fooled, too`, async () => {
        for (const byzantine of [0, 1]) {
          const trial = await trialOn(question, id, byzantine);
          assert.equal(trial?.answer, question.truth);
          assert.equal(trial?.status, "right");
          const { selfConsistency, bestSingle, bestGreedy, honestSeat, vote } = trial.rivals;
          for (const rival of [selfConsistency, bestSingle, bestGreedy, honestSeat, vote])
            assert.equal(rival.status, "right");
        }
      });

  it("ask rivals what they ask seats, of which one is shown the poisoned pages", async () => {
    const asked: string[] = [];
    await trialOn(told, "mbft", 1, asked);
    const [right, poisoned] = [false, true].map((isMisled) => {
      const { user } = firstPrompt(attemptFor(told, 0, 4, "normal"), told, isMisled).small;
      return asked.filter((one) => one === user).length;
    }) as [number, number];
    // Three seats of four, and rivals: answers are kept, so a seat and a rival that ask the same ask once.
    assert.ok(right >= 3 && poisoned >= 1, `${right} and ${poisoned}`);
    assert.equal(asked.filter((one) => one.includes("source: ")).length, 0);
  });

  it("are not for baselines, which read nothing", async () => {
    assert.equal(await trialOn(told, "early-stop", 0), null);
  });

  it("have a section of the results to themselves", () => {
    const sectionOf = (suites: string): string | null => optionsFrom(["--suite", suites, "--write"]).section;
    assert.equal(sectionOf("sourced"), "sourced");
    assert.equal(sectionOf("silent"), "sourced");
    assert.equal(sectionOf("sourced,hard"), "selected");
  });
});
