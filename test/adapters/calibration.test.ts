import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { calibratedModel, selfReporting } from "../../agents/adapters/models/calibrated-model.ts";
import {
  readCalibration,
  writeCalibration,
  type CalibrationTable,
} from "../../agents/adapters/models/calibration-table.ts";
import { brier, calibrationError, measureModel } from "../../agents/cli/calibrate/measure.ts";
import { readQuestions, type KnownQuestion } from "../../agents/cli/calibrate/questions.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Ppm } from "../../agents/core/types.ts";
import type { HostedModel, Model, ModelRequest } from "../../agents/ports/model.ts";

const folder = mkdtempSync(join(tmpdir(), "conclave-calibration-"));
after(() => rmSync(folder, { recursive: true }));
const fileOf = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const table: CalibrationTable = {
  schema: 1,
  model: "tiny@1 sha256:aa",
  engine: "engine@1",
  sampling: "temperature=0",
  prompts: "small@2",
  measure: "token-probability",
  questions: { source: "known.jsonl", count: 50, samples: 1 },
  failed: 0,
  seed: 1,
  date: "2026-11-22",
  curves: {
    answer: {
      fitted: 40,
      heldOut: 10,
      steps: [
        { from: 500_000, right: 8, of: 20 },
        { from: 900_000, right: 19, of: 20 },
      ],
      brier: { before: 0.2, after: 0.1 },
      expectedCalibrationError: { before: 0.2, after: 0.1 },
    },
  },
};

const request: ModelRequest = {
  system: "Answer.",
  user: "task: propose",
  schema: { properties: [{ name: "answer", enum: ["yes", "no"] }] },
  maxTokens: 10,
  seed: 1,
  confidenceOf: "answer",
};

const never = (): AbortSignal => new AbortController().signal;

/** Model that answers yes with that confidence; null: with the confidence that it is asked to report. */
function modelOf(
  confidence: number | null,
  made: { readonly engine?: string; readonly sampling?: string; readonly descriptor?: string } = {},
  asked: ModelRequest[] = [],
): HostedModel {
  const descriptor = made.descriptor ?? table.model;
  const memory = createMemoryModel(
    (one) => {
      asked.push(one);
      return Object.fromEntries(one.schema.properties.map(({ name }) => [name, name === "answer" ? "yes" : "90"]));
    },
    { descriptor, confidence: () => confidence },
  );
  return {
    ...memory,
    state: () => ({ running: 0, waiting: 0, restarts: 0, memoryBytes: 0 }),
    ask: async (one, signal) => ({
      ...(await memory.ask(one, signal)),
      origin: {
        model: descriptor,
        engine: made.engine ?? table.engine,
        sampling: made.sampling ?? table.sampling,
        seed: 1,
      },
    }),
  };
}

const isCode =
  (code: string, ...says: readonly string[]) =>
  (error: unknown) =>
    error instanceof ConclaveError && error.code === code && says.every((word) => error.message.includes(word));

describe("a calibrated model", () => {
  it("CF6: replaces a confidence by the estimate of its step; a property without a curve keeps its own", async () => {
    const confidenceAt = async (raw: number, confidenceOf = "answer"): Promise<number | null> => {
      const model = await calibratedModel(modelOf(raw), "table.json", table);
      return (await model.ask({ ...request, confidenceOf }, never())).confidencePpm;
    };
    assert.deepEqual(
      await Promise.all([100_000, 899_999, 900_000].map((raw) => confidenceAt(raw))),
      [409_090, 409_090, 909_090],
    );
    assert.equal(await confidenceAt(123_456, "verdict"), 123_456);
  });

  it("CF7: refuses a table of another model, engine or sampling before any question", async () => {
    const open = async (made: Parameters<typeof modelOf>[1]): Promise<unknown> =>
      await calibratedModel(modelOf(900_000, made), "table.json", table);
    await assert.rejects(
      open({ descriptor: "tiny@1 sha256:bb" }),
      isCode("CALIBRATION_WRONG", "table.json", "model", "sha256:bb", "conclave calibrate"),
    );
    await assert.rejects(open({ engine: "engine@2" }), isCode("CALIBRATION_WRONG", "engine@2"));
    await assert.rejects(open({ sampling: "temperature=1" }), isCode("CALIBRATION_WRONG", "temperature=1"));
  });

  it("CF7: keeps an answer of another engine, but without a confidence", async () => {
    const made = { engine: table.engine };
    const strangers: string[] = [];
    const calibrated = await calibratedModel(
      {
        ...modelOf(900_000),
        ask: async (one, signal) => await modelOf(900_000, made).ask(one, signal),
      },
      "table.json",
      table,
      (stranger) => strangers.push(stranger),
    );
    assert.equal((await calibrated.ask(request, never())).confidencePpm, 909_090);
    assert.deepEqual(strangers, []);
    made.engine = "engine@2";
    await calibrated.ask(request, never());
    const { fields, confidencePpm } = await calibrated.ask(request, never());
    assert.deepEqual([fields, confidencePpm], [{ answer: "yes" }, null]);
    assert.deepEqual(strangers, ['engine "engine@2"'], "once, however many answers");
    for (let version = 3; version < 40; version++) {
      made.engine = `engine@${version}`;
      await calibrated.ask(request, never());
    }
    assert.equal(strangers.length, 16);
  });

  it("CF7: a sample at another temperature than the table's has no confidence, and is no stranger's", async () => {
    const made = { sampling: table.sampling };
    const strangers: string[] = [];
    const ask = async (one: ModelRequest, signal: AbortSignal) => await modelOf(900_000, made).ask(one, signal);
    const model = await calibratedModel({ ...modelOf(900_000), ask }, "table.json", table, (one) =>
      strangers.push(one),
    );
    made.sampling = "temperature=0.7";
    assert.equal((await model.ask({ ...request, isSampled: true }, never())).confidencePpm, null);
    assert.deepEqual(strangers, []);
    await model.ask(request, never());
    assert.deepEqual(strangers, ['sampling "temperature=0.7"']);
  });

  it("CF3: asks for a self-report only if the table was measured from self-reports, and removes it from the answer", async () => {
    const asked: ModelRequest[] = [];
    const reported = { ...table, measure: "self-report" } as const;
    const model = await calibratedModel(modelOf(null, {}, asked), "table.json", reported);
    const { fields, confidencePpm } = await model.ask(request, never());
    assert.deepEqual([fields, confidencePpm], [{ answer: "yes" }, 909_090]);
    assert.deepEqual(
      asked.at(-1)?.schema.properties.map(({ name }) => name),
      ["answer", "statedConfidence"],
    );
    assert.match(asked.at(-1)?.system ?? "", /^Answer\. .*how sure/);
    assert.equal((await model.ask({ ...request, confidenceOf: "verdict" }, never())).confidencePpm, null);
    assert.equal((await selfReporting(modelOf(null)).ask(request, never())).confidencePpm, 900_000);
  });
});

describe("calibration tables", () => {
  it("CF4: are read back as they were written; writing leaves no temporary file", async () => {
    const path = join(folder, "table.json");
    await writeCalibration(path, table);
    assert.deepEqual(await readCalibration(path), table);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith("table")),
      ["table.json"],
    );
  });

  it("are refused with the name of the field that does not fit", async () => {
    const [curve] = Object.values(table.curves);
    const withSteps = (...steps: readonly (readonly [from: number, right: number, of: number])[]): object => {
      const forms = steps.map(([from, right, of]) => ({ from, right, of }));
      return { ...table, curves: { answer: { ...curve, steps: forms } } };
    };
    const broken: readonly (readonly [value: unknown, field: string])[] = [
      [{ ...table, schema: 2 }, "schema: 2 is wrong"],
      [withSteps([900_000, 10, 20], [100, 20, 20]), "curves.answer.steps"],
      [withSteps([0, 41, 40]), "curves.answer.steps"],
      [withSteps([0, 15, 20], [1, 10, 20]), "curves.answer.steps"],
      [withSteps([0, 10, 20], [1, 10, 20]), "curves.answer.steps"],
      [withSteps([0, 20, 39], [1, 1, 1]), "curves.answer.steps.1.of"],
      [withSteps([0, 10, 20], [1, 15, 21]), "curves.answer.fitted"],
      [{ ...table, curves: { answer: { ...curve, fitted: 39 } } }, "curves.answer.fitted"],
      [{ ...table, curves: { answer: { ...curve, heldOut: 0 } } }, "curves.answer.heldOut"],
      [{ ...table, date: "yesterday" }, `date: "yesterday" is wrong`],
    ];
    for (const [value, field] of broken)
      await assert.rejects(
        readCalibration(fileOf("broken.json", JSON.stringify(value))),
        isCode("CONFIG_INVALID", field),
      );
    await assert.rejects(readCalibration(fileOf("broken.json", "{")), isCode("CONFIG_INVALID", "not JSON"));
    await assert.rejects(readCalibration(fileOf("broken.json", "[]")), isCode("CONFIG_INVALID", "top level"));
    const long = fileOf("broken.json", `${JSON.stringify(table)}${" ".repeat(1 << 22)}`);
    await assert.rejects(readCalibration(long), isCode("CONFIG_INVALID", "more than 4194304 bytes"));
    await assert.rejects(readCalibration(join(folder, "none.json")), isCode("CONFIG_MISSING", "none.json"));
  });
});

describe("questions with known answers", () => {
  const good = { question: "Is 7 odd?", kind: "boolean", answer: "Yes", wrong: "no" };

  it("are read line by line, answers in canonical form", async () => {
    const path = fileOf(
      "good.jsonl",
      `${JSON.stringify(good)}\n\n{"question":"2+2?","kind":"number 1","answer":"4.0"}\n`,
    );
    const [first, second] = (await readQuestions(path)) as [KnownQuestion, KnownQuestion];
    assert.deepEqual([first.answer, first.wrong, first.terms.kind], ["yes", { answer: "no", proof: "" }, "boolean"]);
    assert.deepEqual([second.answer, second.wrong, second.terms.decimals], ["4", null, 1]);
  });

  it("are refused with the line and the field that do not fit", async () => {
    const wrong: readonly (readonly [line: unknown, field: string, says: string])[] = [
      ["nonsense", "the whole line", "not JSON"],
      [{ ...good, kind: "chess" }, "kind", "as in boolean"],
      [{ ...good, answer: "perhaps" }, "answer", "boolean"],
      [{ ...good, wrong: "yes" }, "wrong", "it is the right answer"],
      [{ ...good, wrong: "maybe" }, "wrong", "no answer"],
      [{ kind: "boolean", answer: "yes" }, "question", ""],
      [{ ...good, hint: "x" }, "the whole line", "hint"],
    ];
    for (const [line, field, says] of wrong) {
      const text = typeof line === "string" ? line : JSON.stringify(line);
      const path = fileOf("wrong.jsonl", `${JSON.stringify(good)}\n${text}\n`);
      await assert.rejects(readQuestions(path), isCode("CONFIG_INVALID", "line 2", field, says));
    }
    await assert.rejects(readQuestions(join(folder, "none.jsonl")), isCode("CONFIG_MISSING", "none.jsonl"));
  });
});

describe("measuring a model", () => {
  const questions = Array.from({ length: 120 }, (_, index): KnownQuestion => ({
    question: `Question ${index}?`,
    terms: { kind: "boolean", options: 0, decimals: 0 } as KnownQuestion["terms"],
    answer: "yes",
    proof: "",
    wrong: { answer: "no", proof: "" },
  }));
  const { model, engine, sampling, prompts } = table;
  const made = { model, engine, sampling, prompts };
  const measurement = { questions, samples: 1, seed: 2, jobs: 1 };
  /** Model that answers seven of ten questions right and is always sure; its verdicts are accept or abstain. */
  const sure = createMemoryModel(
    ({ user, confidenceOf }): Record<string, string> => {
      const index = Number(/Question (\d+)/.exec(user)?.[1]);
      if (confidenceOf === "answer") return { proof: "", answer: index % 10 < 7 ? "yes" : "no" };
      return { check: "", verdict: index % 2 === 0 ? "accept" : "abstain" };
    },
    { confidence: () => 980_000 },
  );

  it("CF4: counts right answers and verdicts, leaves abstentions out, and improves the held-out answers", async () => {
    const { curves, failed } = await measureModel(sure, made, measurement, never(), () => {});
    const { answer, verdict } = curves;
    assert.equal(failed, 0);
    assert.deepEqual([answer?.fitted, answer?.heldOut], [96, 24]);
    assert.equal((verdict?.fitted ?? 0) + (verdict?.heldOut ?? 0), 120);
    assert.equal(answer?.steps.length, 1);
    assert.ok(Math.abs((answer?.steps[0]?.right ?? 0) / 96 - 0.7) < 0.1);
    // The model accepts the right and the wrong answer alike.
    assert.equal(verdict?.steps[0]?.right, (verdict?.fitted ?? 0) / 2);
    assert.ok((answer?.brier.after ?? 1) < (answer?.brier.before ?? 0));
    assert.ok((verdict?.expectedCalibrationError.after ?? 1) < (verdict?.expectedCalibrationError.before ?? 0));
    assert.deepEqual(await measureModel(sure, made, { ...measurement, jobs: 7 }, never(), () => {}), {
      curves,
      failed,
    });
  });

  it("CF5: refuses to make a table of too few answers, of failed calls only, or after it was stopped", async () => {
    const few = { ...measurement, questions: questions.slice(0, 30) };
    let asked = 0;
    await assert.rejects(
      measureModel(sure, made, few, never(), () => asked++),
      isCode("USAGE", "at least 40"),
    );
    assert.equal(asked, 0, "no call is made for a table that cannot be made");
    // 24 of 30 questions are fitted, no matter how often they are asked.
    await assert.rejects(
      measureModel(sure, made, { ...few, samples: 10 }, never(), () => {}),
      isCode("USAGE", "24 different ones to fit and 6 held out", "--questions", "--families"),
    );
    // The confidence carries no information but differs for each question, so that one question alone could fill a bin.
    const own = ({ user }: ModelRequest): number => 900_000 + 100 * Number(/Question (\d+)/.exec(user)?.[1]);
    const scattered: Model = {
      ...sure,
      ask: async (one, signal) => ({ ...(await sure.ask(one, signal)), confidencePpm: own(one) }),
    };
    const { curves } = await measureModel(scattered, made, { ...measurement, samples: 20 }, never(), () => {});
    const steps = curves["answer"]?.steps ?? [];
    assert.ok(
      steps.every(({ right, of }) => of >= 400 && right < of),
      JSON.stringify(steps),
    );
    const broken = createMemoryModel(() => ({ nonsense: "" }));
    await assert.rejects(
      measureModel(broken, made, measurement, never(), () => {}),
      isCode("MODEL_FAILED", "unparsable"),
    );
    const ask: HostedModel["ask"] = async (one, signal) => ({ ...(await sure.ask(one, signal)), confidencePpm: null });
    await assert.rejects(
      measureModel({ ...sure, ask }, made, measurement, never(), () => {}),
      isCode("USAGE", "no call"),
    );
    const stop = new AbortController();
    await assert.rejects(
      measureModel(sure, made, measurement, stop.signal, (done) => done === 5 && stop.abort(new Error("stopped"))),
      /stopped/,
    );
  });

  it("CF4: stops when model, engine or sampling of an answer differ from those of the first", async () => {
    for (const part of ["model", "engine", "sampling"] as const) {
      let calls = 0;
      const ask: HostedModel["ask"] = async (one, signal) => {
        const origin = { ...made, seed: null, ...(++calls > 9 && { [part]: "another" }) };
        return { ...(await sure.ask(one, signal)), origin };
      };
      const mixed = measureModel({ ...sure, ask }, made, measurement, never(), () => {});
      await assert.rejects(mixed, isCode("CALIBRATION_WRONG", part, "another", "model.fallbacks"));
      assert.equal(calls, 10);
    }
  });

  it("CF4: computes Brier score and calibration error by their definitions", () => {
    const mixed = [
      { confidence: 800_000 as Ppm, right: true },
      { confidence: 800_000 as Ppm, right: false },
      { confidence: 100_000 as Ppm, right: false },
      { confidence: 1_000_000 as Ppm, right: true },
    ];
    assert.equal(brier(mixed), 0.1725);
    // Bins 0.8 to 0.9, 0.1 to 0.2 and 0.9 to 1, gaps 0.3, 0.1 and 0.
    assert.equal(calibrationError(mixed), 0.175);
  });
});
