/** Exponential back-off with full jitter in its upper half; `wake` ends the current sleep and starts over. */
export interface Backoff {
  /** Resolves after a sleep, by default the next longer one; earlier if woken or aborted. */
  sleep(signal: AbortSignal, sleepMs?: number): Promise<void>;
  /** The peer gave a sign of life: ends a sleep at once and forgets the failures. */
  wake(): void;
  reset(): void;
}

export function createBackoff(bounds: { readonly minBackoffMs: number; readonly maxBackoffMs: number }): Backoff {
  let failures = 0;
  let endSleep: (() => void) | null = null;

  function next(): number {
    const ceilingMs = Math.min(bounds.maxBackoffMs, bounds.minBackoffMs * 2 ** failures);
    failures = Math.min(failures + 1, 30);
    return ceilingMs * (0.5 + Math.random() / 2);
  }

  return {
    sleep(signal, sleepMs = next()) {
      return new Promise((resolve) => {
        const end = (): void => {
          endSleep = null;
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          resolve();
        };
        const timer = setTimeout(end, sleepMs);
        endSleep = end;
        signal.addEventListener("abort", end, { once: true });
        if (signal.aborted) end();
      });
    },
    wake() {
      failures = 0;
      endSleep?.();
    },
    reset() {
      failures = 0;
    },
  };
}
