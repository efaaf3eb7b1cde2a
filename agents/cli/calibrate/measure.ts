import { createHash } from "node:crypto";
import PQueue from "p-queue";
import { strangePart, type CalibrationCurve, type Made } from "../../adapters/models/calibration-table.ts";
import { canonicalAnswer } from "../../core/request/answer.ts";
import {
  BIN_ANSWERS,
  calibratedConfidence,
  isotonicSteps,
  LEAST_QUESTIONS,
  type CalibrationSample,
} from "../../core/calibration.ts";
import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { Prompt } from "../../core/prompts/prompt.ts";
import { proposePrompt, verifyPrompt, withVerdict } from "../../core/prompts/task-prompt.ts";
import { ONE_PPM, type Ppm } from "../../core/types.ts";
import type { Model } from "../../ports/model.ts";
import { sampleAttempt } from "../../core/request/refusal.ts";
import type { KnownQuestion } from "./questions.ts";

/** What is asked of a model, and how often. */
export interface Measurement {
  readonly questions: readonly KnownQuestion[];
  /** Times that each call is made, with a new seed each time. */
  readonly samples: number;
  readonly seed: number;
  /** Calls at the same time. */
  readonly jobs: number;
}

export interface Measured {
  readonly curves: Readonly<Record<string, CalibrationCurve>>;
  readonly failed: number;
}

/** A call, and what tells whether its answer is right: null if it abstains. */
interface Probe {
  readonly asked: KnownQuestion;
  readonly prompt: Prompt;
  readonly seed: number;
  readonly isHeldOut: boolean;
  readonly isRight: (fields: Readonly<Record<string, string>>) => boolean | null;
}

interface Marked extends CalibrationSample {
  readonly question: string;
  readonly property: string;
  readonly isHeldOut: boolean;
}

/** CF4: one question of five is held out. */
const HELD_OUT_OF = 5;
const ECE_BINS = 10;

/**
 * CF4: asks all questions and fits a curve for each property. Rejects with the signal's reason, with MODEL_UNREACHABLE,
 * with the first MODEL_FAILED if no call had an answer, with CALIBRATION_WRONG if something else than `made` answered,
 * or with USAGE if there are too few answers.
 */
export async function measureModel(
  model: Model,
  made: Made,
  measurement: Measurement,
  signal: AbortSignal,
  onDone: (done: number, of: number) => void,
): Promise<Measured> {
  const probes = probesOf(measurement);
  // Checked before any call: there cannot be more answers than questions.
  checkEnough(
    "the questions",
    probes.map(({ asked, isHeldOut }) => ({ question: asked.question, isHeldOut })),
  );
  const marked: Marked[] = [];
  const queue = new PQueue({ concurrency: measurement.jobs });
  // The first failure ends all other calls, since they cost money.
  const failure = new AbortController();
  const either = AbortSignal.any([signal, failure.signal]);
  const failures: ConclaveError[] = [];
  let done = 0;
  await queue.addAll(
    probes.map((probe) => async () => {
      either.throwIfAborted();
      const answered = await answerOf(model, made, probe, either).catch((error: unknown) => {
        failure.abort(error);
        throw error;
      });
      onDone(++done, probes.length);
      if (answered instanceof ConclaveError) failures.push(answered);
      else if (answered !== "unsaid") marked.push(answered);
    }),
  );
  const [first] = failures;
  // The first failure says why no answer came.
  if (first !== undefined && marked.length === 0) throw first;
  return { curves: curvesOf(marked, measurement.samples), failed: failures.length };
}

async function answerOf(
  model: Model,
  made: Made,
  probe: Probe,
  signal: AbortSignal,
): Promise<Marked | "unsaid" | ConclaveError> {
  const { asked, prompt, seed, isHeldOut, isRight } = probe;
  const { question } = asked;
  try {
    const wording = prompt[model.prompts];
    const response = await model.ask({ ...wording, seed, maxTokens: limits.modelOutputTokens }, signal);
    const { fields, confidencePpm, origin } = response;
    if (origin !== undefined) checkSame(made, origin);
    const right = isRight(withVerdict(wording, asked, fields));
    if (right === null || confidencePpm === null) return "unsaid";
    return { property: wording.confidenceOf, question, confidence: confidencePpm as Ppm, right, isHeldOut };
  } catch (error) {
    signal.throwIfAborted();
    // A failed answer has no confidence and is skipped; an unreachable server would fail all calls, so it ends the
    // measurement.
    if (error instanceof ConclaveError && error.code === "MODEL_FAILED") return error;
    throw error;
  }
}

/** CF4: requires that one model made all answers. */
function checkSame(made: Made, found: Partial<Made>): void {
  const part = strangePart(made, found);
  if (part === null) return;
  const message = `Calibrate failed: the ${part} ${JSON.stringify(made[part])} made the first answer and ${JSON.stringify(found[part])} a later one, and a table is of one; remove model.fallbacks while it is made, or wait until all of the server runs the same`;
  throw new ConclaveError("CALIBRATION_WRONG", message, { part, first: made[part], found: found[part] ?? "" });
}

function probesOf({ questions, samples, seed }: Measurement): readonly Probe[] {
  const key = ({ question }: KnownQuestion): string => hash([seed, question]).toString("hex");
  const order = questions.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  return order.flatMap((one, index) => {
    const isHeldOut = index % HELD_OUT_OF === HELD_OUT_OF - 1;
    const asked = callsOf(one);
    return Array.from({ length: samples }, (_, sample) =>
      asked.map(({ prompt, isRight }, call) => {
        const drawn = hash([seed, one.question, sample, call]).readUInt32BE(0) >>> 1;
        return { asked: one, prompt, isRight, seed: drawn, isHeldOut };
      }),
    ).flat();
  });
}

/**
 * Returns the calls for a question. An answer is right if it agrees with the known one; a verdict is right if it
 * accepts the known answer and rejects the wrong one.
 */
function callsOf(known: KnownQuestion): readonly Pick<Probe, "prompt" | "isRight">[] {
  const { terms, answer, proof, wrong } = known;
  const attempt = sampleAttempt(terms, known.question);
  const isRight = (given: string): boolean => canonicalAnswer(known, given)?.text === answer;
  const verdict = (good: string, bad: string) => (fields: Readonly<Record<string, string>>) =>
    fields["verdict"] === good ? true : fields["verdict"] === bad ? false : null;
  return [
    { prompt: proposePrompt(attempt), isRight: (fields) => isRight(fields["answer"] ?? "") },
    { prompt: verifyPrompt(attempt, answer, proof), isRight: verdict("accept", "reject") },
    ...(wrong === null
      ? []
      : [{ prompt: verifyPrompt(attempt, wrong.answer, wrong.proof), isRight: verdict("reject", "accept") }]),
  ];
}

/** CF5: requires enough answers, fitted and held out. */
function checkEnough(what: string, own: readonly Pick<Marked, "question" | "isHeldOut">[]): void {
  const different = (isHeldOut: boolean): number =>
    new Set(own.filter((one) => one.isHeldOut === isHeldOut).map(({ question }) => question)).size;
  const [questions, heldOut] = [different(false), different(true)];
  if (questions >= LEAST_QUESTIONS && heldOut > 0) return;
  const message = `Calibrate failed: ${what} are ${questions} different ones to fit and ${heldOut} held out, at least ${LEAST_QUESTIONS} and 1 are needed (one question of ${HELD_OUT_OF} is held out); bring more with --questions, or name more --families`;
  throw new ConclaveError("USAGE", message, { questions, heldOut });
}

function curvesOf(marked: readonly Marked[], samples: number): Readonly<Record<string, CalibrationCurve>> {
  const curves = [...Map.groupBy(marked, ({ property }) => property)].map(([property, own]) => {
    checkEnough(`the questions with an answer for ${property}`, own);
    const fitted = own.filter(({ isHeldOut }) => !isHeldOut);
    const heldOut = own.filter(({ isHeldOut }) => isHeldOut);
    // Bins grow with the samples, so that no bin covers fewer questions than with one sample each.
    const steps = isotonicSteps(fitted, BIN_ANSWERS * samples);
    const after = heldOut.map(({ confidence, right }) => ({
      confidence: calibratedConfidence(steps, confidence),
      right,
    }));
    const curve = {
      fitted: fitted.length,
      heldOut: heldOut.length,
      steps: [...steps],
      brier: { before: brier(heldOut), after: brier(after) },
      expectedCalibrationError: { before: calibrationError(heldOut), after: calibrationError(after) },
    };
    return [property, curve] as const;
  });
  if (curves.length > 0) return Object.fromEntries(curves.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  throw new ConclaveError(
    "USAGE",
    "Calibrate failed: no call had an answer with a confidence; bring other --questions",
  );
}

/** Returns the mean squared distance between the confidence and 1 for a right or 0 for a wrong answer. */
export function brier(samples: readonly CalibrationSample[]): number {
  const sum = samples.reduce((all, { confidence, right }) => all + (confidence / ONE_PPM - Number(right)) ** 2, 0);
  return rounded(sum / samples.length);
}

/**
 * Returns the mean distance between confidence and part of right answers, over ten bins of equal width, weighted by
 * their size.
 */
export function calibrationError(samples: readonly CalibrationSample[]): number {
  const bins = Map.groupBy(samples, ({ confidence }) =>
    Math.min(ECE_BINS - 1, Math.floor((confidence * ECE_BINS) / ONE_PPM)),
  );
  const gaps = [...bins.values()].map((bin) =>
    Math.abs(bin.reduce((sum, { confidence, right }) => sum + confidence / ONE_PPM - Number(right), 0)),
  );
  return rounded(gaps.reduce((sum, gap) => sum + gap, 0) / samples.length);
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

function hash(parts: readonly unknown[]): Buffer {
  return createHash("sha256").update(JSON.stringify(parts)).digest();
}
