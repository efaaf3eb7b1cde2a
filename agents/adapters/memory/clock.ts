import type { Clock } from "../../ports/clock.ts";

/** Time that stands still until the owner moves it. Timers of one instant fire in the order in which they were scheduled. */
export interface MemoryClock extends Clock {
  /** Number of waiting timers. */
  readonly pending: number;
  /** Time at which the next timer fires; null if none waits. */
  readonly nextAt: number | null;
  /** Moves time forward and fires all timers that fall due, also those that callbacks schedule meanwhile. */
  advance(ms: number): void;
  /** Moves time forward, and lets all promises settle before and after each callback. */
  advanceAsync(ms: number): Promise<void>;
  /** Jumps from timer to timer until none waits; returns how many fired. Throws if `maxTimers` are not enough. */
  runUntilIdle(maxTimers?: number): Promise<number>;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

export function createMemoryClock(startMs = 0): MemoryClock {
  /** Timers, sorted with the next one last. */
  const timers: Timer[] = [];
  let now = startMs;
  let order = 0;

  const insert = (timer: Timer): void => {
    let low = 0;
    for (let high = timers.length; low < high;) {
      const middle = (low + high) >>> 1;
      if (isBefore(timer, timers[middle] as Timer)) low = middle + 1;
      else high = middle;
    }
    timers.splice(low, 0, timer);
  };

  /** Fires the next timer if it falls due by then. */
  const fireBy = (until: number): boolean => {
    const next = timers.at(-1);
    if (next === undefined || next.at > until) return false;
    timers.pop();
    now = Math.max(now, next.at);
    next.callback();
    return true;
  };

  return {
    now: () => now,
    schedule(afterMs, callback) {
      const timer = { at: now + Math.max(0, afterMs), order: order++, callback };
      insert(timer);
      return () => {
        const at = timers.indexOf(timer);
        if (at >= 0) timers.splice(at, 1);
      };
    },
    get pending() {
      return timers.length;
    },
    get nextAt() {
      return timers.at(-1)?.at ?? null;
    },
    advance(ms) {
      const until = now + ms;
      while (fireBy(until));
      now = until;
    },
    async advanceAsync(ms) {
      const until = now + ms;
      await settled();
      while (fireBy(until)) await settled();
      now = until;
    },
    async runUntilIdle(maxTimers = 100_000) {
      await settled();
      for (let fired = 0; ; fired++) {
        if (timers.length === 0) return fired;
        if (fired === maxTimers) throw new Error(`the clock is not idle after ${maxTimers} timers`);
        fireBy(Infinity);
        await settled();
      }
    },
  };
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** A turn of the event loop: every promise that can settle without time or I/O has settled. */
async function settled(): Promise<void> {
  await new Promise<void>((resolve) => void setImmediate(resolve));
}
