/** EV14: the order in which readings begin, if there are more than a reader does at one time. */
export interface Turns {
  /** Runs the action when it is its turn. Throws what the action throws, or the signal's reason while it waits. */
  run<T>(host: string, signal: AbortSignal, action: () => Promise<T>): Promise<T>;
}

interface Turn {
  readonly host: string;
  /** Readings with the same signal belong to one question. */
  readonly signal: AbortSignal;
  readonly begin: () => void;
}

/**
 * Gives out at most `all` turns at one time, `perHost` for a host. The next turn is that of the question with the fewest turns, and of
 * these of whoever waits longest: so a question with slow sources does not keep all of them while another one has none.
 */
export function createTurns(all: number, perHost: number): Turns {
  const waiting = new Set<Turn>();
  const running = new Set<Turn>();
  const held = (key: "host" | "signal", turn: Turn): number =>
    [...running].filter((other) => other[key] === turn[key]).length;
  const next = (): Turn | undefined =>
    [...waiting]
      .filter((turn) => held("host", turn) < perHost)
      .map((turn) => ({ turn, turns: held("signal", turn) }))
      .reduce<{ readonly turn: Turn; readonly turns: number } | undefined>(
        (best, one) => (best === undefined || one.turns < best.turns ? one : best),
        undefined,
      )?.turn;
  const beginNext = (): void => {
    for (let turn = next(); turn !== undefined && running.size < all; turn = next()) {
      waiting.delete(turn);
      running.add(turn);
      turn.begin();
    }
  };
  return {
    run: async (host, signal, action) => {
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const turn = { host, signal, begin: resolve };
      const stop = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", stop, { once: true });
      waiting.add(turn);
      beginNext();
      try {
        await promise;
        return await action();
      } finally {
        signal.removeEventListener("abort", stop);
        waiting.delete(turn);
        running.delete(turn);
        beginNext();
      }
    },
  };
}
