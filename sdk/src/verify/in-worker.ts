import type { Digest } from "../../../agents/core/types.ts";
import type { VerifyReport, VerifyOptions } from "../../../agents/node/audit/report.ts";
import {
  sentError,
  valueOf,
  type Delivered,
  type FromAuditor,
  type ToAuditor,
} from "../../../agents/node/audit/thread-messages.ts";
import { ConclaveError } from "../errors.ts";

/** A worker that runs `@conclave/sdk/verify-worker`. */
export type VerifyWorker = Pick<Worker, "postMessage" | "addEventListener" | "removeEventListener">;

/** What the worker is told of the chain. */
export type Facts = Pick<Extract<ToAuditor, { kind: "verify" }>, "domain" | "requestId" | "events" | "signatures">;

let tasks = 0;

/** Verifies in the worker, while this thread fetches the blocks. One worker serves any number of calls. */
export async function verifyIn(
  worker: VerifyWorker,
  facts: Facts,
  { store, signal, onProgress }: Pick<VerifyOptions, "store" | "signal" | "onProgress">,
): Promise<VerifyReport> {
  const id = tasks++;
  const calls = new Map<number, AbortController>();
  const { promise, resolve, reject } = Promise.withResolvers<VerifyReport>();
  // A worker has no origin, unlike a window.
  // eslint-disable-next-line unicorn/require-post-message-target-origin
  const send = (message: ToAuditor): void => worker.postMessage([message]);

  const answer = async (call: number, digest: Digest): Promise<void> => {
    const forgotten = new AbortController();
    calls.set(call, forgotten);
    const delivered: Delivered = await store.get(digest, AbortSignal.any([signal, forgotten.signal])).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: sentError(error) }),
    );
    calls.delete(call);
    if (!forgotten.signal.aborted) send({ kind: "answer", call, answer: delivered });
  };
  const hear = (message: FromAuditor): void => {
    if (message.kind === "forget") calls.get(message.call)?.abort();
    if (message.kind === "ready" || message.kind === "forget" || message.id !== id) return;
    if (message.kind === "call") void answer(message.call, message.digest);
    if (message.kind === "progress") onProgress?.(message.step, message.done, message.total);
    if (message.kind !== "report") return;
    try {
      resolve(valueOf(message.settled));
    } catch (error) {
      reject(signal.aborted ? (signal.reason as Error) : error);
    }
  };
  const onMessage = ({ data }: MessageEvent<readonly FromAuditor[]>): void => data.forEach(hear);
  const onError = ({ message }: ErrorEvent): void =>
    reject(new ConclaveError("WORKER_FAILED", `Verify: the worker failed: ${message}`, { field: "worker" }));
  worker.addEventListener("message", onMessage);
  worker.addEventListener("error", onError);
  try {
    send({ kind: "verify", id, ...facts, tellsProgress: onProgress !== undefined });
    return await promise;
  } finally {
    worker.removeEventListener("message", onMessage);
    worker.removeEventListener("error", onError);
  }
}
