export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Returns a cancel function. */
  schedule(delayMs: number, callback: () => void): () => void;
}

/** Resolves after the delay; rejects with the signal's reason when the signal aborts. */
export function sleep(clock: Pick<Clock, "schedule">, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = clock.schedule(delayMs, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
