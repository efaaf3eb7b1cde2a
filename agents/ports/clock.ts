export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Returns a cancel function. */
  schedule(afterMs: number, callback: () => void): () => void;
}

/** Resolves after the time; rejects with the signal's reason when the signal aborts. */
export function sleep(clock: Pick<Clock, "schedule">, afterMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = clock.schedule(afterMs, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
