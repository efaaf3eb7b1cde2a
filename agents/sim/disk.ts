import type { Journal } from "../ports/journal.ts";
import type { Clock } from "../ports/clock.ts";

/** A journal whose appends take a moment to become durable; what a crash catches in that moment may be lost. */
export interface SlowJournal extends Journal {
  /** The process died: of what was not durable yet only the first so many records survive. */
  crash(surviving: number): { readonly lost: number };
}

const SYNC_MS = 2;

export function createSlowJournal(journal: Journal, clock: Clock): SlowJournal {
  let waiting: { readonly record: Uint8Array; readonly done: () => void }[] = [];
  let dead = false;

  const flush = (): void => {
    if (dead) return;
    const batch = waiting;
    waiting = [];
    for (const { record, done } of batch) void journal.append(record).then(done);
  };

  return {
    get truncatedBytes() {
      return journal.truncatedBytes;
    },
    read: () => journal.read(),
    append: (record) =>
      new Promise((done) => {
        if (dead) return;
        if (waiting.length === 0) clock.schedule(SYNC_MS, flush);
        waiting.push({ record, done });
      }),
    crash(surviving) {
      dead = true;
      const kept = waiting.slice(0, surviving);
      for (const { record } of kept) void journal.append(record);
      return { lost: waiting.length - kept.length };
    },
    close: () => journal.close(),
  };
}
