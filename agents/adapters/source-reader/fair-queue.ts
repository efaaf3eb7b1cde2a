/** EV14: the order in which readings begin, if there are more than a reader does at one time. */
export interface FairQueue {
  /** Runs the action when its place in the queue comes. Throws what the action throws, or the signal's reason while it waits. */
  run<T>(host: string, signal: AbortSignal, action: () => Promise<T>): Promise<T>;
}

interface Entry {
  readonly host: string;
  /** Readings with the same signal belong to one question. */
  readonly signal: AbortSignal;
  readonly begin: () => void;
}

/**
 * Runs at most `all` actions at one time, `perHost` for a host. The next one is of the question with the fewest that run, of these of the
 * one with the fewest that began, and of these the one that waits longest: so a question with slow sources does not keep all places while
 * another one has none, nor one place for one slow source after the other.
 */
export function createFairQueue(all: number, perHost: number): FairQueue {
  const waiting = new Set<Entry>();
  const running = new Set<Entry>();
  const begun = new WeakMap<AbortSignal, number>();
  const begunWith = ({ signal }: Entry): number => begun.get(signal) ?? 0;
  const runningWith = (key: "host" | "signal", entry: Entry): number =>
    [...running].filter((other) => other[key] === entry[key]).length;
  const next = (): Entry | undefined =>
    // The sort is stable: who waits longest comes first of equals.
    [...waiting]
      .filter((entry) => runningWith("host", entry) < perHost)
      .map((entry) => ({ entry, others: runningWith("signal", entry), before: begunWith(entry) }))
      .toSorted((a, b) => a.others - b.others || a.before - b.before)[0]?.entry;
  const beginNext = (): void => {
    for (let entry = next(); entry !== undefined && running.size < all; entry = next()) {
      waiting.delete(entry);
      running.add(entry);
      begun.set(entry.signal, begunWith(entry) + 1);
      entry.begin();
    }
  };
  return {
    run: async (host, signal, action) => {
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const entry = { host, signal, begin: resolve };
      const stop = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", stop, { once: true });
      waiting.add(entry);
      beginNext();
      try {
        await promise;
        return await action();
      } finally {
        signal.removeEventListener("abort", stop);
        waiting.delete(entry);
        running.delete(entry);
        beginNext();
      }
    },
  };
}
