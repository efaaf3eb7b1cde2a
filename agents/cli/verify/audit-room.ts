/** TR6: bounds the memory of the transcripts under way: any number of small ones, but only one large one at a time. */
export interface Room {
  enter(): Visitor;
}

/** A transcript that takes room. */
export interface Visitor {
  /** Resolves once there is room for these bytes; rejects with the signal. */
  take(bytes: number, signal: AbortSignal): Promise<void>;
  leave(): void;
}

interface Waiting {
  readonly who: object;
  readonly go: () => void;
}

export function createRoom(smallBytes: number): Room {
  let large: object | null = null;
  let queue: readonly Waiting[] = [];
  return {
    enter() {
      const who = {};
      let held = 0;
      return {
        async take(bytes, signal) {
          held += bytes;
          if (held <= smallBytes) return;
          large ??= who;
          if (large === who) return;
          await new Promise<void>((go, stop) => {
            queue = [...queue, { who, go }];
            signal.addEventListener("abort", () => stop(signal.reason as Error), { once: true });
          });
        },
        leave() {
          queue = queue.filter((one) => one.who !== who);
          if (large !== who) return;
          large = queue[0]?.who ?? null;
          for (const one of queue) if (one.who === large) one.go();
          queue = queue.filter((one) => one.who !== large);
        },
      };
    },
  };
}
