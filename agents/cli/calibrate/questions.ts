import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { parseJson } from "../../adapters/json.ts";
import { canonicalAnswer } from "../../core/request/answer.ts";
import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { KIND_LINES, answerFormOf, type AnswerForm } from "../../core/prompts/task-prompt.ts";
import type { Terms } from "../../core/types.ts";
import { fileTrouble } from "../shared/config.ts";
import { SMALLEST } from "../shared/smallest-terms.ts";

/** A question with its answer, and what a verifier sees. */
export interface KnownQuestion {
  readonly question: string;
  readonly terms: Terms;
  readonly answer: string;
  readonly proof: string;
  /** The wrong answer that a verifier sees; null for none. */
  readonly wrong: { readonly answer: string; readonly proof: string } | null;
}

const text = (most: number): z.ZodString => z.string().min(1).max(most);
const proof = z.string().max(limits.proofBytes).default("");

const lineSchema = z.strictObject({
  question: text(limits.questionBytes),
  /** The kind as prompts write it (`KIND_LINES`). */
  kind: text(20),
  answer: text(limits.answerBytes),
  proof,
  wrong: text(limits.answerBytes).optional(),
  wrongProof: proof,
});

type Line = z.infer<typeof lineSchema>;

const MAX_BYTES = 1 << 26;

/**
 * Reads questions from JSON lines; empty lines are skipped. Throws CONFIG_MISSING, or CONFIG_INVALID that names line
 * and field.
 */
export async function readQuestions(path: string): Promise<readonly KnownQuestion[]> {
  const content = await readFile(path, "utf8").catch((error: unknown) => {
    const message = `Read the questions ${path} failed: ${fileTrouble(error)}; name a file of questions with --questions`;
    throw new ConclaveError("CONFIG_MISSING", message, { path, field: "--questions" }, error);
  });
  if (content.length > MAX_BYTES)
    throw new ConclaveError("CONFIG_INVALID", `Read ${path} failed: it has more than ${MAX_BYTES} bytes`, { path });
  return content.split("\n").flatMap((line, index) => (line.trim() === "" ? [] : [questionIn(path, line, index + 1)]));
}

function questionIn(path: string, content: string, line: number): KnownQuestion {
  const wrong = (field: string, reason: string): ConclaveError => {
    const message = `Check ${path} failed at line ${line}, ${field === "" ? "the whole line" : field}: ${reason}; correct it`;
    return new ConclaveError("CONFIG_INVALID", message, { path, line, field });
  };
  const value = parseJson(content);
  if (value === undefined) throw wrong("", "it is not JSON");
  const parsed = lineSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw wrong(issue?.path.join(".") ?? "", issue?.message ?? "it is invalid");
  }
  const known = knownFrom(parsed.data);
  if ("field" in known) throw wrong(known.field, known.reason);
  return known;
}

function knownFrom(
  line: Line,
): KnownQuestion | { readonly field: "kind" | "answer" | "wrong"; readonly reason: string } {
  const form = answerFormOf(line.kind);
  if (form === null)
    return { field: "kind", reason: `write a kind with its letters or decimals, as in ${KIND_LINES.join(", ")}` };
  const terms = questionTerms(form);
  const answer = canonicalAnswer({ terms, question: line.question }, line.answer);
  if (answer === null) return { field: "answer", reason: `it is no answer of the kind ${line.kind}` };
  const known = { question: line.question, terms, answer: answer.text, proof: line.proof };
  if (line.wrong === undefined) return { ...known, wrong: null };
  const other = canonicalAnswer({ terms, question: line.question }, line.wrong);
  if (other === null) return { field: "wrong", reason: `it is no answer of the kind ${line.kind}` };
  if (other.outcome === answer.outcome) return { field: "wrong", reason: "it is the right answer" };
  return { ...known, wrong: { answer: other.text, proof: line.wrongProof } };
}

interface HeldOut {
  readonly family: string;
  readonly kind: string;
  readonly question: string;
  readonly expected: string;
  readonly proof: string;
  readonly wrongAnswer: string;
  readonly wrongProof: string;
  readonly sources?: readonly string[];
}

/** Models whose question families come with Conclave: the name in the descriptor, and the file of the questions. */
const KNOWN_MODELS: Readonly<Record<string, string>> = {
  "conclave-small": join(import.meta.dirname, "../../../models/held-out.json"),
};

/** Returns the file of the questions that a model of this descriptor knows. Throws USAGE without one. */
export function knownSource(descriptor: string): string {
  const [name = ""] = descriptor.split("@");
  const path = KNOWN_MODELS[name];
  if (path !== undefined) return path;
  const message = `Choose --questions: no families of questions are known for ${descriptor}; bring a file of questions with answers`;
  throw new ConclaveError("USAGE", message, { option: "--questions", model: descriptor });
}

/**
 * Reads the held-out questions without documents, of these families or, for null, of all. Throws USAGE for an unknown
 * family.
 */
export async function readKnown(path: string, families: readonly string[] | null): Promise<readonly KnownQuestion[]> {
  const all = (JSON.parse(await readFile(path, "utf8")) as readonly HeldOut[]).filter(
    (one) => one.sources === undefined,
  );
  const names = [...new Set(all.map(({ family }) => family))];
  const unknown = families?.find((family) => !names.includes(family));
  if (unknown !== undefined) {
    const message = `Correct --families ${JSON.stringify(unknown)}: choose of ${names.join(", ")}`;
    throw new ConclaveError("USAGE", message, { option: "--families", value: unknown });
  }
  return all
    .filter(({ family }) => families?.includes(family) ?? true)
    .map(({ kind, question, expected, proof: shown, wrongAnswer, wrongProof }) => ({
      question,
      terms: questionTerms(answerFormOf(kind) as AnswerForm),
      answer: expected,
      proof: shown,
      wrong: { answer: wrongAnswer, proof: wrongProof },
    }));
}

function questionTerms(form: AnswerForm): Terms {
  return { ...SMALLEST, protocol: 1, ...form };
}
