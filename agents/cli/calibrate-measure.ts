import { createHash } from "node:crypto";
import PQueue from "p-queue";
import type { CalibrationCurve } from "../adapters/models/calibration-table.ts";
import { canonicalAnswer } from "../core/answer.ts";
import { calibratedConfidence, isotonicSteps, type CalibrationSample } from "../core/calibration.ts";
import { ConclaveError } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { Prompt } from "../core/prompt.ts";
import { proposePrompt, verifyPrompt } from "../core/task-prompt.ts";
import { ONE_PPM, type Address, type Attempt, type Ppm, type RequestId } from "../core/types.ts";
import type { Model } from "../ports/model.ts";
import type { KnownQuestion } from "./calibrate-questions.ts";

/** What is asked of a model, and how often. */
export interface Measurement {
  readonly questions: readonly KnownQuestion[];
  /** Times that each call is made, each with a seed of its own. */
  readonly samples: number;
  readonly seed: number;
  /** Calls at the same time. */
  readonly jobs: number;
}

export interface Measured {
  readonly curves: Readonly<Record<string, CalibrationCurve>>;
  readonly failed: number;
}

/** One call, and which of its answers is right; null: neither, as an abstention is. */
interface Probe {
  readonly prompt: Prompt;
  readonly seed: number;
  readonly isHeldOut: boolean;
  readonly judge: (fields: Readonly<Record<string, string>>) => boolean | null;
}

interface Marked extends CalibrationSample {
  readonly property: string;
  readonly isHeldOut: boolean;
}

/** CF5: fewer answers in a bin say little. */
const BIN = 20;
/** CF4: one question of so many is held out. */
const HELD_OUT_OF = 5;
/** Answers without which there is no curve: two bins, and as many held-out ones as their share. */
const LEAST = 2 * BIN;
const ECE_BINS = 10;

/**
 * CF4: asks all and fits a curve for each property. Rejects with the signal's reason, with MODEL_UNREACHABLE, or with USAGE when there are too
 * few answers.
 */
export async function measureModel(
  model: Model,
  measurement: Measurement,
  signal: AbortSignal,
  onDone: (done: number, of: number) => void,
): Promise<Measured> {
  const probes = probesOf(measurement);
  const marked: Marked[] = [];
  const queue = new PQueue({ concurrency: measurement.jobs });
  let failed = 0;
  let done = 0;
  await queue.addAll(
    probes.map((probe) => async () => {
      signal.throwIfAborted();
      const answered = await answerOf(model, probe, signal);
      onDone(++done, probes.length);
      if (answered === null) failed += 1;
      else if (answered !== "unsaid") marked.push(answered);
    }),
  );
  return { curves: curvesOf(marked), failed };
}

async function answerOf(model: Model, probe: Probe, signal: AbortSignal): Promise<Marked | "unsaid" | null> {
  const { prompt, seed, isHeldOut, judge } = probe;
  try {
    const { fields, confidencePpm } = await model.ask({ ...prompt, seed, maxTokens: limits.modelOutputTokens }, signal);
    const right = judge(fields);
    if (right === null || confidencePpm === null) return "unsaid";
    return { property: prompt.confidenceOf, confidence: confidencePpm as Ppm, right, isHeldOut };
  } catch (error) {
    signal.throwIfAborted();
    // An answer that is none has no confidence; a server that is not there would have none for all.
    if (error instanceof ConclaveError && error.code === "MODEL_FAILED") return null;
    throw error;
  }
}

function probesOf({ questions, samples, seed }: Measurement): readonly Probe[] {
  const key = ({ question }: KnownQuestion): string => hash([seed, question]).toString("hex");
  const order = questions.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  return order.flatMap((one, index) => {
    const isHeldOut = index % HELD_OUT_OF === HELD_OUT_OF - 1;
    const asked = callsOf(one);
    return Array.from({ length: samples }, (_, sample) =>
      asked.map(({ prompt, judge }, call) => {
        const drawn = hash([seed, one.question, sample, call]).readUInt32BE(0) >>> 1;
        return { prompt, judge, seed: drawn, isHeldOut };
      }),
    ).flat();
  });
}

/** An answer is right if it agrees with the known one; a verdict, if it accepts that and rejects the wrong one. */
function callsOf(known: KnownQuestion): readonly Pick<Probe, "prompt" | "judge">[] {
  const { terms, answer, proof, wrong } = known;
  const attempt = attemptOf(known);
  const isRight = (given: string): boolean => canonicalAnswer(terms, given)?.text === answer;
  const verdict = (good: string, bad: string) => (fields: Readonly<Record<string, string>>) =>
    fields["verdict"] === good ? true : fields["verdict"] === bad ? false : null;
  return [
    { prompt: proposePrompt(attempt), judge: (fields) => isRight(fields["answer"] ?? "") },
    { prompt: verifyPrompt(attempt, answer, proof), judge: verdict("accept", "reject") },
    ...(wrong === null
      ? []
      : [{ prompt: verifyPrompt(attempt, wrong.answer, wrong.proof), judge: verdict("reject", "accept") }]),
  ];
}

/** Prompts show nothing of it but question and kind. */
function attemptOf({ question, terms }: KnownQuestion): Attempt {
  const nobody = `0x${"00".repeat(20)}` as Address;
  return {
    domain: { chainId: 1, oracle: nobody },
    request: { id: 0n as RequestId, consumer: nobody, terms, question },
    attempt: 0,
    committee: [],
  };
}

function curvesOf(marked: readonly Marked[]): Readonly<Record<string, CalibrationCurve>> {
  const curves = [...Map.groupBy(marked, ({ property }) => property)].map(([property, own]) => {
    const fitted = own.filter(({ isHeldOut }) => !isHeldOut);
    const heldOut = own.filter(({ isHeldOut }) => isHeldOut);
    if (fitted.length < LEAST || heldOut.length === 0) {
      const message = `Calibrate ${property} failed: ${fitted.length} answers to fit and ${heldOut.length} held out, at least ${LEAST} and 1 are needed; bring more --questions, or take more --samples`;
      throw new ConclaveError("USAGE", message, { property, fitted: fitted.length, heldOut: heldOut.length });
    }
    const steps = isotonicSteps(fitted, BIN);
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

/** Mean squared distance of confidence and being right. */
export function brier(samples: readonly CalibrationSample[]): number {
  const sum = samples.reduce((all, { confidence, right }) => all + (confidence / ONE_PPM - Number(right)) ** 2, 0);
  return rounded(sum / samples.length);
}

/** Ten bins of equal width: mean distance of a bin's mean confidence and its share of right answers, by its size. */
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
