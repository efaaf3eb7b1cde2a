const FIRST_SLEEP_MS = 250;
const LONGEST_SLEEP_MS = 30_000;

/** Returns an exponential back-off with jitter: between half and all of 0.25 s, 0.5 s, 1 s ... 30 s. */
export function backoffMs(failures: number): number {
  const full = Math.min(LONGEST_SLEEP_MS, FIRST_SLEEP_MS * 2 ** Math.min(failures, 16));
  return Math.round(full * (0.5 + Math.random() / 2));
}

/** Resolves after the time, or as soon as the signal aborts. */
export async function sleepUnlessEnded(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, signal).catch(() => undefined);
}

/** Resolves after the time; rejects with the signal's reason as soon as it aborts. */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
  });
}
