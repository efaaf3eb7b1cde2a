import type { Clock } from "../agents/ports/clock.ts";
import type { Journal } from "../agents/ports/journal.ts";

/** The records of one seat as they lie on its disk, and the crashes of the process that writes them. */
export interface SimDisk {
  /** The journal of a new life. `syncMs`: how long an append takes to become durable. */
  open(clock: Clock, syncMs: number): Journal;
  /** The process died: of what was not durable yet only the first so many records survive. Returns how many were lost. */
  crash(surviving: number): number;
  readonly records: readonly Uint8Array[];
  readonly bytes: number;
}

interface Append {
  readonly record: Uint8Array;
  readonly done: () => void;
}

export function createSimDisk(): SimDisk {
  const records: Uint8Array[] = [];
  let bytes = 0;
  let waiting: Append[] = [];
  /** Whoever wrote in an earlier life may not write any more. */
  let life = 0;

  const keep = (record: Uint8Array): void => {
    records.push(record);
    bytes += record.length;
  };

  return {
    records,
    get bytes() {
      return bytes;
    },
    open(clock, syncMs) {
      const own = ++life;
      const flush = (): void => {
        if (life !== own) return;
        const batch = waiting;
        waiting = [];
        for (const { record, done } of batch) {
          keep(record);
          done();
        }
      };
      return {
        truncatedBytes: 0,
        async *read() {
          yield* records.values();
        },
        append(record) {
          if (life !== own) return new Promise(() => {});
          if (syncMs === 0) {
            keep(record);
            return Promise.resolve();
          }
          return new Promise((done) => {
            if (waiting.length === 0) clock.schedule(syncMs, flush);
            waiting.push({ record, done });
          });
        },
        close: async () => {},
      };
    },
    crash(surviving) {
      life++;
      const lost = waiting.slice(surviving);
      for (const { record } of waiting.slice(0, surviving)) keep(record);
      waiting = [];
      return lost.length;
    },
  };
}
