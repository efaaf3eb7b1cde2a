import type { Origin, OutputProperty, OutputSchema, PromptSet, TextForm } from "../core/prompts/prompt.ts";

export type { OutputProperty, OutputSchema, TextForm };

export interface ModelRequest {
  /** Instructions; small user-only models do not see it. */
  readonly system: string;
  /** The rendered fields, see docs/spec/prompts.md: one `name: <JSON string>` per line. */
  readonly user: string;
  readonly schema: OutputSchema;
  readonly maxTokens: number;
  /** Deterministic per call where the engine allows it. */
  readonly seed: number;
  /** Name of the property whose token probability is the confidence (e.g. "answer" or "verdict"). */
  readonly confidenceOf: string;
  /** Whether the answer is a sample, at a temperature of 0.7 at least, whatever the model's config has. */
  readonly isSampled?: true;
  /** Budget of all tries for an answer together; no bound if absent. */
  readonly budget?: TokenBudget;
}

/** Tokens of prompts and answers that may still be spent. */
export interface TokenBudget {
  /**
   * Sets tokens aside before a try; null if fewer are left. The caller calls the returned function once, with the real
   * cost.
   */
  reserve(most: number): ((tokens: number) => void) | null;
}

export interface ModelResponse {
  /** Fields valid by the schema: every property is present, a string, and within enum and maxLength. */
  readonly fields: Readonly<Record<string, string>>;
  /**
   * Probability of the tokens of `confidenceOf` at temperature 1, in parts per million; null if the engine gives none.
   */
  readonly confidencePpm: number | null;
  /** The engine and settings that made the answer, if known. */
  readonly origin?: Omit<Origin, "prompts">;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Time from the call to the first token, with the wait for a place. */
  readonly firstTokenMs: number;
  /** Time of the work, without the wait for a place. */
  readonly durationMs: number;
}

/** P4: why a call has no answer; `data.kind` of MODEL_FAILED. */
export type ModelFailureKind =
  /** No answer in time, or the caller gave up. */
  | "timeout"
  /** Too many calls are waiting already. */
  | "overloaded"
  /** The server takes no more calls for now. */
  | "rate-limit"
  /** The attempt could cost more tokens than are left for the request. */
  | "budget-spent"
  /** The prompt does not fit into the context. */
  | "prompt-too-long"
  /** The answer is longer than any answer that was asked for. */
  | "answer-too-large"
  /** The answer reached its token limit before its end. */
  | "truncated"
  /** The model thought until its token limit, also when it was asked not to, and said no answer. */
  | "thinking-too-long"
  /** The answer does not match the schema. */
  | "unparsable"
  /** The server or model will not answer this. */
  | "refused"
  /** The server cannot hold a model to a schema. */
  | "unsupported"
  /** The model's process has ended or is closed. */
  | "crashed";

/** Throws ConclaveError MODEL_FAILED (`data.kind`: ModelFailureKind) or MODEL_UNREACHABLE. */
export interface Model {
  /** Model descriptor recorded in transcripts, e.g. "conclave-small@1 sha256:ab12…" or "openai:qwen3-32b". */
  readonly descriptor: string;
  /** P5: the set of prompts that it is asked with. */
  readonly prompts: PromptSet;
  ask(request: ModelRequest, signal: AbortSignal, onToken?: (text: string) => void): Promise<ModelResponse>;
  close(): Promise<void>;
}

/** A model and the number of calls that it answers at the same time. */
export interface HostedModel extends Model {
  state(): ModelState;
}

export interface ModelState {
  /** Calls at work, and calls that wait for a place. */
  readonly running: number;
  readonly waiting: number;
  /** Times that the model's process was started again; 0 for a model without a process. */
  readonly restarts: number;
  /** Resident memory of the model's process when it last answered, in bytes; 0 for a model without a process. */
  readonly memoryBytes: number;
}
