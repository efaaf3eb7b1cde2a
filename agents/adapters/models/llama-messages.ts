import type { OutputSchema } from "../../ports/model.ts";

/** Messages from the adapter to its worker process. `load` comes first and once. */
export type ToWorker =
  | { readonly kind: "load"; readonly options: WorkerOptions }
  | { readonly kind: "ask"; readonly id: number; readonly ask: WorkerAsk }
  | { readonly kind: "abort"; readonly id: number };

/** Messages from the worker: `ready` or `unloadable` once, then one `answer` or `failed` for each `ask`. */
export type FromWorker =
  | ({ readonly kind: "ready" } & EngineFacts)
  | { readonly kind: "unloadable"; readonly what: Unloadable; readonly reason: string }
  | { readonly kind: "token"; readonly id: number; readonly text: string }
  | ({ readonly kind: "answer"; readonly id: number } & Answered)
  | {
      readonly kind: "failed";
      readonly id: number;
      readonly why: "prompt-too-long" | "truncated" | "crashed" | "aborted";
      readonly reason: string;
    };

/** What a worker could not load; `thoughts`: the config gives tokens of thought to a model that does not think. */
export type Unloadable = "engine" | "model" | "thoughts" | "context";

/** Facts that the worker knows once it has loaded the model. */
export interface EngineFacts {
  /** Tokens per sequence. */
  readonly contextSize: number;
  /** Names and versions, e.g. "node-llama-cpp@3.21.1 llama.cpp@b9999 cpu". */
  readonly engine: string;
  /** Most tokens of thought before an answer; 0 for a model that does not think. */
  readonly thinkingTokens: number;
  /** Resident memory of the process. */
  readonly memoryBytes: number;
}

export interface WorkerOptions {
  readonly path: string;
  readonly sequences: number;
  readonly threads: number;
  readonly gpu: "auto" | false;
  readonly temperature: number;
  /** Tokens per sequence; null for what the model was trained for, up to a bound. */
  readonly contextSize: number | null;
  readonly prompt: "user-only" | "chat";
  /** Most tokens of thought; null for what is usual for the model's size, if it thinks. */
  readonly thinkingTokens: number | null;
  /** Parameters of the model. */
  readonly parameters: number;
}

export interface WorkerAsk {
  readonly system: string;
  readonly user: string;
  readonly schema: OutputSchema;
  readonly maxTokens: number;
  readonly seed: number;
  readonly confidenceOf: string;
  readonly isSampled?: true;
  readonly stream: boolean;
}

/** An answer, with the resident memory of the process after it. */
export interface Answered extends WorkerAnswer {
  readonly memoryBytes: number;
}

export interface WorkerAnswer {
  readonly text: string;
  readonly confidencePpm: number | null;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Time from the call to the first token. */
  readonly firstTokenMs: number;
}
