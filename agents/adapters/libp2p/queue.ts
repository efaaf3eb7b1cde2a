/** Frames that wait for one peer, bounded in count and bytes. */
export interface FrameQueue {
  /** Adds a frame, and returns how many of the oldest it displaced. */
  push(frame: Uint8Array): number;
  /** Takes frames in order up to about `maxBytes`, but at least one if there is any. */
  take(maxBytes: number): Uint8Array[];
  /** Resolves once there is a frame, rejects when the signal aborts. One waiter at a time. */
  ready(signal: AbortSignal): Promise<void>;
}

export function createFrameQueue(bounds: { readonly queuedFrames: number; readonly queuedBytes: number }): FrameQueue {
  const frames: Uint8Array[] = [];
  let bytes = 0;
  let wake: (() => void) | null = null;

  function shift(): Uint8Array | undefined {
    const frame = frames.shift();
    bytes -= frame?.length ?? 0;
    return frame;
  }

  return {
    push(frame) {
      frames.push(frame);
      bytes += frame.length;
      let dropped = 0;
      while (frames.length > bounds.queuedFrames || bytes > bounds.queuedBytes) {
        shift();
        dropped++;
      }
      wake?.();
      return dropped;
    },
    take(maxBytes) {
      const taken: Uint8Array[] = [];
      let size = 0;
      while (frames[0] !== undefined && (taken.length === 0 || size + frames[0].length <= maxBytes)) {
        size += frames[0].length;
        taken.push(frames[0]);
        shift();
      }
      return taken;
    },
    ready(signal) {
      return new Promise((resolve, reject) => {
        signal.throwIfAborted();
        if (frames.length > 0) return resolve();
        const onAbort = (): void => {
          wake = null;
          reject(signal.reason as Error);
        };
        signal.addEventListener("abort", onAbort, { once: true });
        wake = () => {
          wake = null;
          signal.removeEventListener("abort", onAbort);
          resolve();
        };
      });
    },
  };
}
