import PQueue from "p-queue";

import type { ModelState } from "../../ports/model.ts";
import { aborted, modelFailed } from "./output.ts";

/** The calls of one model: a bounded number run and wait, and further ones fail at once. */
export interface CallQueue {
  /**
   * Runs a call. The caller is free as soon as its signal aborts; the place is free once the call has really stopped.
   * Throws MODEL_FAILED (overloaded, timeout) and what the call throws.
   */
  run<Result>(signal: AbortSignal, call: () => Promise<Result>): Promise<Result>;
  load(): Pick<ModelState, "running" | "waiting">;
  /** Resolves once nothing runs or waits. */
  idle(): Promise<void>;
}

export function createCallQueue(descriptor: string, running: number, waiting: number): CallQueue {
  const queue = new PQueue({ concurrency: running });
  return {
    async run(signal, call) {
      if (signal.aborted) throw aborted(descriptor, signal);
      if (queue.pending >= running && queue.size >= waiting)
        throw modelFailed(descriptor, "overloaded", `${queue.size} calls wait already`);
      const early = Promise.withResolvers<never>();
      early.promise.catch(() => {});
      const leave = new AbortController();
      let hasBegun = false;
      const abort = (): void => {
        early.reject(aborted(descriptor, signal));
        if (!hasBegun) leave.abort();
      };
      signal.addEventListener("abort", abort, { once: true });
      const begin = async (): ReturnType<typeof call> => {
        hasBegun = true;
        return await call();
      };
      // A waiting call gives up its place at once; a running one must keep it, so it does not get this signal.
      const place = queue.add(begin, { signal: leave.signal });
      try {
        return await Promise.race([early.promise, place]);
      } finally {
        signal.removeEventListener("abort", abort);
      }
    },
    load: () => ({ running: queue.pending, waiting: queue.size }),
    idle: async () => await queue.onIdle(),
  };
}
