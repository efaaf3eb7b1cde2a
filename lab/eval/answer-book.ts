import { createHash } from "node:crypto";
import PQueue from "p-queue";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Model, ModelFailureKind, ModelRequest } from "../../agents/ports/model.ts";
import { openJsonLines } from "./json-lines.ts";

/**
 * Result of a call. `promptTokens` and `outputTokens` are those of the call that made the answer, however often it is
 * read again.
 */
export type Answer =
  | {
      readonly kind: "answered";
      readonly fields: Readonly<Record<string, string>>;
      readonly confidencePpm: number | null;
      readonly promptTokens: number;
      readonly outputTokens: number;
    }
  | { readonly kind: "failed"; readonly reason: string };

/** One way to answer: a file and a temperature. */
export interface Variant {
  /** Name for people. */
  readonly label: string;
  /** Everything that its answers depend on beside the request: the model's digest, the engine, the sampling. */
  readonly key: string;
  /** True if the seed changes nothing but samples. */
  readonly isGreedy: boolean;
  /**
   * The same model several times. Each copy answers one call at a time, so that an answer never depends on other
   * calls.
   */
  readonly models: readonly Model[];
}

export interface AnswerBook {
  readonly variants: readonly Variant[];
  ask(variant: number, request: ModelRequest): Promise<Answer>;
  /** Calls that the book did not have, and their tokens. */
  readonly asked: { readonly calls: number; readonly tokens: number };
  close(): Promise<void>;
}

/** Failures that repeat whenever the same is asked. Other failures are the machine's, and are asked again. */
const LASTING: readonly ModelFailureKind[] = [
  "prompt-too-long",
  "answer-too-large",
  "truncated",
  "thinking-too-long",
  "unparsable",
  "refused",
];

/**
 * Keeps answers by model, prompt, seed and sampling. An answer that one protocol asked for serves every other one,
 * and a run that was stopped continues where it was. `path`: the file of answers; null: none.
 */
export function createAnswerBook(variants: readonly Variant[], path: string | null): AnswerBook {
  const answers = openJsonLines<Answer>(path);
  const underWay = new Map<string, Promise<Answer>>();
  const width = Math.min(...variants.map(({ models }) => models.length));
  const queue = new PQueue({ concurrency: width });
  const free = variants.map(({ models }) => [...models]);
  const asked = { calls: 0, tokens: 0 };

  const call = async (variant: number, request: ModelRequest): Promise<Answer> => {
    const pool = free[variant] as Model[];
    const model = pool.pop() as Model;
    try {
      return await answerOf(model, request);
    } finally {
      pool.push(model);
    }
  };
  const make = async (key: string, variant: number, request: ModelRequest): Promise<Answer> => {
    const answer = await queue.add(async () => await call(variant, request));
    asked.calls += 1;
    if (answer.kind === "answered") asked.tokens += answer.promptTokens + answer.outputTokens;
    if (answer.kind === "answered" || LASTING.some((kind) => kind === answer.reason)) answers.set(key, answer);
    underWay.delete(key);
    return answer;
  };

  return {
    variants,
    asked,
    async ask(variant, request) {
      const chosen = variants[variant] as Variant;
      const seeded = chosen.isGreedy && request.isSampled !== true ? { ...request, seed: 0 } : request;
      const key = keyOf(chosen, seeded);
      const known = answers.get(key) ?? underWay.get(key);
      if (known !== undefined) return await known;
      const making = make(key, variant, seeded);
      underWay.set(key, making);
      return await making;
    },
    async close() {
      await Promise.all(variants.flatMap(({ models }) => models.map(async (model) => await model.close())));
    },
  };
}

/** Asks without a book. Throws what is no failure of the model. */
export async function answerOf(model: Model, request: ModelRequest): Promise<Answer> {
  try {
    const { fields, confidencePpm, promptTokens, outputTokens } = await model.ask(
      request,
      new AbortController().signal,
    );
    return { kind: "answered", fields, confidencePpm, promptTokens, outputTokens };
  } catch (error) {
    if (!(error instanceof ConclaveError)) throw error;
    return { kind: "failed", reason: String(error.data["kind"] ?? error.code) };
  }
}

function keyOf(
  { key, isGreedy }: Variant,
  { system, user, schema, maxTokens, seed, confidenceOf, isSampled }: ModelRequest,
): string {
  // A variant that samples answers all calls alike.
  const sampled = isGreedy && isSampled === true ? [isSampled] : [];
  const parts = [key, system, user, schema, maxTokens, seed, confidenceOf, ...sampled];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
