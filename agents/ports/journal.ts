/** Longest record in bytes, far above every message. Every adapter refuses a longer one. */
export const maxRecordBytes = 1_048_576;

/** What to do about a damaged journal: without it, or with an older one, the agent could sign twice for one slot. */
export const journalWayOut =
  "stop the agent, wait until the requests it sits on are settled, then move the journal away; never put back an older copy";

/**
 * An append-only, durable list of records: once `append` resolves, the record survives a crash. One writer per path.
 */
export interface Journal {
  /**
   * Reads the records in append order. A torn last record (from a crash) is dropped and counted in `truncatedBytes`;
   * damage before it throws JOURNAL_CORRUPT.
   */
  read(): AsyncIterable<Uint8Array>;
  /** Bytes that opening dropped from the end. */
  readonly truncatedBytes: number;
  append(record: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

export interface JournalFactory {
  /** Opens or creates a journal; the name is [a-z0-9-]{1,80}. */
  open(name: string): Promise<Journal>;
  list(): Promise<readonly string[]>;
  remove(name: string): Promise<void>;
  /** Gives a closed journal another name, in place of the journal that has it, at once: a crash leaves one of the two. */
  rename(name: string, to: string): Promise<void>;
}
