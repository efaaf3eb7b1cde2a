import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Ppm } from "../../agents/core/types.ts";
import type { Condition } from "../eval/conditions.ts";
import { type Cell, type Trial } from "../eval/evaluate.ts";
import { openJsonLines } from "../eval/json-lines.ts";
import type { Mark } from "../eval/mark.ts";
import { type Method } from "../eval/methods.ts";
import { reportText } from "../eval/report.ts";
import { runEvaluation } from "../eval/run.ts";
import { independenceOf, pooled, summarize } from "../eval/summary.ts";
import { findingsOf } from "../eval/targets.ts";
import { assertIncludes } from "../../test/support/assertions.ts";

import { cellOf, evaluationOf, methodOf, question, seedWhere, truthful } from "./support/evaluation.ts";

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
