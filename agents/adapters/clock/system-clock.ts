import type { Clock } from "../../ports/clock.ts";

/** The longest time that setTimeout takes; a longer one would fire at once. */
const LONGEST_STEP_MS = 2 ** 31 - 1;

/** `keepAlive: false` lets the process end while timers are pending. */
export function createSystemClock({ keepAlive = true }: { readonly keepAlive?: boolean } = {}): Clock {
  return {
    now: () => Date.now(),
    schedule(afterMs, callback) {
      let timer: NodeJS.Timeout;
      const wait = (leftMs: number): void => {
        const stepMs = Math.min(Math.max(0, leftMs), LONGEST_STEP_MS);
        timer = setTimeout(() => (leftMs > stepMs ? wait(leftMs - stepMs) : callback()), stepMs);
        if (!keepAlive) timer.unref();
      };
      wait(afterMs);
      return () => clearTimeout(timer);
    },
  };
}
