import { isMapOf } from "../encoding/codec.ts";
import { hexToBytes } from "../encoding/bytes.ts";
import { limits } from "../limits.ts";
import { asDigest, listOf } from "../encoding/payload.ts";
import type { Answered, Call } from "./phased-rules.ts";
import type { Candidate } from "./proposals.ts";
import type { Form } from "./round-book.ts";
import { heard, taskPrompt, type Task } from "../prompts/task-prompt.ts";
import type { Attempt, Digest, Value } from "../types.ts";

/**
 * Marks for answers by five criteria (DecentLLMs, section III-C2; LL7, WB5): their form in a message, the call that asks for them, and how the
 * reply is read. A mark out of range is rejected, never clamped.
 */

/** The criteria, in the order of their marks. */
export const CRITERIA = ["contradiction", "fabrication", "instruction", "context", "logic"] as const;
export const MARK_MAX = 20;
/** The best possible total. */
export const TOTAL_MAX = CRITERIA.length * MARK_MAX;

/** One integer 0..20 per criterion. */
export type Marks = readonly number[];

export interface Score {
  /** What the marks are for: the payload digest of a reveal, under wbft the outcome of an answer. */
  readonly target: Digest;
  /** The marks; null declares that the model failed or replied with something else. */
  readonly marks: Marks | null;
}

export interface Scores {
  readonly scores: readonly Score[];
}

export function scoreForm(phase: number): Form<Scores> {
  return {
    name: "score",
    phase,
    encode: ({ scores }) => ({
      scores: scores.map(({ target, marks }) => ({ target: hexToBytes(target), marks })),
    }),
    decode: (_, value) => {
      const scores = isMapOf(value, ["scores"]) ? listOf(value["scores"], limits.classesPerRound, decodeScore) : null;
      return scores === null || new Set(scores.map(({ target }) => target)).size !== scores.length ? null : { scores };
    },
  };
}

function decodeScore(entry: Value): Score | null {
  if (!isMapOf(entry, ["marks", "target"])) return null;
  const target = asDigest(entry["target"]);
  if (target === null) return null;
  if (entry["marks"] === null) return { target, marks: null };
  const marks = listOf(entry["marks"], CRITERIA.length, asMark);
  return marks === null || marks.length !== CRITERIA.length ? null : { target, marks };
}

function asMark(value: Value): number | null {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MARK_MAX ? (value as number) : null;
}

export function totalOf(marks: Marks): number {
  return marks.reduce((sum, mark) => sum + mark, 0);
}

/**
 * Raised with every change of wording or fields, and with TASKS_VERSION; protocols that score rise with it.
 * @internal test/core/versions.test.ts pins it; nothing else reads it.
 */
export const SCORES_VERSION = 3;

const MARKS = Array.from({ length: MARK_MAX + 1 }, (_, mark) => String(mark));

const SCORE: Task = {
  name: "score",
  small:
    "You are a strict examiner. Another member gave this answer with this proof. Derive the answer yourself in `check`, then mark it from 0 to " +
    "20 by each criterion, 20 best, 10 neutral: `contradiction` (does it contradict established facts?), `fabrication` (does it invent " +
    "facts?), `instruction` (does it depart from what was asked?), `context` (does it depart from the context given?), `logic` (does the " +
    'proof hold?). Two examples. A right answer with a sound proof: {"check":"17 > 15, so yes","contradiction":"20","fabrication":"20",' +
    '"instruction":"20","context":"20","logic":"20"}. A wrong answer: {"check":"17 > 15, so not no","contradiction":"2","fabrication":"6",' +
    '"instruction":"10","context":"10","logic":"2"}.',
  general:
    "You are a strict examiner. Another member gave `answer` with `proof`; either may be wrong. Solve the question yourself in `check`, in short " +
    "steps. Then mark `answer` and `proof` from 0 to 20 by each criterion, 20 best, 10 neutral: `contradiction` (does it contradict established " +
    "facts, or what you derived?), `fabrication` (does it invent facts?), `instruction` (does it depart from what was asked?), `context` (does " +
    "it depart from the context given?), `logic` (does the proof hold?). A wrong answer has at most 5 for contradiction and logic; a right one " +
    "with a sound proof has at least 18 everywhere.",
};

/** The call that asks for marks for one answer. */
export function scoreCall(attempt: Attempt, { target, answer, proof }: Candidate): Call {
  const data = [
    ["answer", answer.text],
    ["proof", heard(proof, limits.proofBytes)],
  ] as const;
  const schema = {
    properties: [{ name: "check", maxLength: limits.proofBytes }, ...CRITERIA.map((name) => ({ name, enum: MARKS }))],
  };
  return { about: ["score", target], prompt: taskPrompt(attempt, SCORE, data, schema, "logic") };
}

/**
 * The scores of a seat for the answers it had to mark.
 * @param nameOf what a score calls an answer
 */
export function scoresFrom(
  candidates: readonly Candidate[],
  answered: readonly Answered[],
  nameOf: (candidate: Candidate) => Digest,
): Scores {
  const scores = candidates.slice(0, limits.classesPerRound).map((candidate): Score => {
    const reply = answered.find(({ about }) => about[1] === candidate.target);
    return { target: nameOf(candidate), marks: reply === undefined ? null : marksFrom(reply.fields) };
  });
  return { scores };
}

/** All five marks; null if one of them is missing, out of range or spelt in another way. */
export function marksFrom(fields: Readonly<Record<string, string>>): Marks | null {
  const marks = CRITERIA.map((name) => MARKS.indexOf(fields[name] ?? ""));
  return marks.includes(-1) ? null : marks;
}
