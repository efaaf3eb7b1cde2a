import type { Clock } from "../agents/ports/clock.ts";
import type { Journal } from "../agents/ports/journal.ts";

/** The records of one seat as they lie on its disk, and the crashes of the process that writes them. */
export interface SimDisk {
  /** Opens the journal of a new life. `syncMs`: time until an append is durable. */
  open(clock: Clock, syncMs: number): Journal;
  /**
   * Ends the process: of the records that were not durable yet only the first `surviving` stay. Returns the number of
   * lost ones.
   */
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
  /** Number of the current life: a process of an earlier one can no longer write. */
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
