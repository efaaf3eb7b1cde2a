/** Exponential back-off with full jitter in its upper half; `wake` ends the current pause and starts over. */
export interface Backoff {
  /** Resolves after a pause, by default the next longer one; earlier if woken or aborted. */
  pause(signal: AbortSignal, pauseMs?: number): Promise<void>;
  /** The peer gave a sign of life: ends a pause at once and forgets the failures. */
  wake(): void;
  reset(): void;
}

export function createBackoff(bounds: { readonly minBackoffMs: number; readonly maxBackoffMs: number }): Backoff {
  let failures = 0;
  let endPause: (() => void) | null = null;

  function next(): number {
    const ceilingMs = Math.min(bounds.maxBackoffMs, bounds.minBackoffMs * 2 ** failures);
    failures = Math.min(failures + 1, 30);
    return ceilingMs * (0.5 + Math.random() / 2);
  }

  return {
    pause(signal, pauseMs = next()) {
      return new Promise((resolve) => {
        const end = (): void => {
          endPause = null;
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          resolve();
        };
        const timer = setTimeout(end, pauseMs);
        endPause = end;
        signal.addEventListener("abort", end, { once: true });
        if (signal.aborted) end();
      });
    },
    wake() {
      failures = 0;
      endPause?.();
    },
    reset() {
      failures = 0;
    },
  };
}
