import type { OutputSchema } from "../core/prompt.ts";

export type { OutputSchema };

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
}

export interface ModelResponse {
  /** Validated against the schema: every property present, a string, within enum and maxLength. */
  readonly fields: Readonly<Record<string, string>>;
  /** Probability of the tokens of `confidenceOf` at temperature 1, parts per million; null when the engine has none. */
  readonly confidencePpm: number | null;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly durationMs: number;
}

/** Throws ConclaveError MODEL_FAILED (data.kind: timeout | rate-limit | unparsable | truncated | crashed | refused) or MODEL_UNREACHABLE. */
export interface Model {
  /** Model descriptor recorded in transcripts, e.g. "conclave-small@1 sha256:ab12…" or "openai:qwen3-32b". */
  readonly descriptor: string;
  ask(request: ModelRequest, signal: AbortSignal, onToken?: (text: string) => void): Promise<ModelResponse>;
  close(): Promise<void>;
}
