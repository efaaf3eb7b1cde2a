import { ConclaveError, messageOf } from "../../core/errors.ts";
import type { Certificate, Digest, Domain, RequestId } from "../../core/types.ts";
import type { ErrorCode } from "../../core/errors.ts";
import type { ChainEvent } from "../../core/request/events.ts";
import type { VerifyReport, VerifyStep } from "./report.ts";

/** Messages between the thread that fetches and the threads that verify. */
export type ToAuditor =
  | {
      readonly kind: "verify";
      readonly id: number;
      readonly domain: Domain;
      readonly requestId: RequestId;
      readonly events: readonly ChainEvent[];
      readonly signatures: Certificate["signatures"] | null;
      /** Whether it tells how far it is. */
      readonly tellsProgress: boolean;
    }
  | { readonly kind: "answer"; readonly call: number; readonly answer: Delivered };

export type FromAuditor =
  | { readonly kind: "ready" }
  /** Asks the fetching thread for a block; `id` names the verification. */
  | { readonly kind: "call"; readonly call: number; readonly id: number; readonly digest: Digest }
  /** Says that nobody waits for the answer any more. */
  | { readonly kind: "forget"; readonly call: number }
  | {
      readonly kind: "progress";
      readonly id: number;
      readonly step: VerifyStep;
      readonly done: number;
      readonly total: number;
    }
  | { readonly kind: "report"; readonly id: number; readonly settled: Settled<VerifyReport> };

export type Delivered = Settled<Uint8Array>;

/** A value or an error; errors lose their class between threads. */
export type Settled<T> = { readonly value: T } | { readonly error: SentError };

export interface SentError {
  readonly code: ErrorCode | null;
  readonly message: string;
  readonly data: ConclaveError["data"];
}

export function sentError(error: unknown): SentError {
  if (error instanceof ConclaveError) return { code: error.code, message: error.message, data: error.data };
  return { code: null, message: messageOf(error), data: {} };
}

export function valueOf<T>(settled: Settled<T>): T {
  if ("value" in settled) return settled.value;
  const { code, message, data } = settled.error;
  throw code === null ? new Error(message) : new ConclaveError(code, message, data);
}

/** Runs a task at the end of the running turn of the event loop. */
export type AtTurnEnd = (task: () => void) => void;

/**
 * Sends all messages of one turn of the event loop together, since waking the other thread costs more than a message.
 */
export function inBatches<Message>(
  post: (messages: readonly Message[]) => void,
  atTurnEnd: AtTurnEnd,
): (message: Message) => void {
  let waiting: Message[] = [];
  return (message) => {
    if (waiting.push(message) > 1) return;
    atTurnEnd(() => {
      const messages = waiting;
      waiting = [];
      post(messages);
    });
  };
}
