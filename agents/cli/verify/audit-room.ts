/** TR6: bounds what transcripts under way take of the memory, whatever their committees have made of them: all may be small, and one at a time large. */
export interface Room {
  enter(): Visitor;
}

/** One transcript. */
export interface Visitor {
  /** Resolves once there is room for so many bytes more; rejects with the signal. */
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
