import type { Source } from "../core/sources/source.ts";
import type { Reading } from "../core/sources/snapshot.ts";

/** Reads what a question names, with this operator's own eyes. */
export interface SourceReader {
  /**
   * Reads a source. Whatever the source does, the result is a reading, at the latest when the reader's own time is up; it throws
   * only the signal's reason, once that aborts. Readings with the same signal belong to one question, and questions share the reader's
   * turns.
   */
  read(source: Source, signal: AbortSignal): Promise<Reading>;
}
