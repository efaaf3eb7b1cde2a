/** Longest record in bytes; far above every message. A longer one is refused, whatever the adapter. */
export const maxRecordBytes = 1_048_576;

/** Append-only and durable: when `append` resolves, the record survives a crash. One writer per path. */
export interface Journal {
  /** Records in append order. A truncated last record (crash while appending) is dropped and reported by `truncated`; damage before it throws JOURNAL_CORRUPT. */
  read(): AsyncIterable<Uint8Array>;
  /** Bytes dropped from the end at opening. */
  readonly truncatedBytes: number;
  append(record: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

export interface JournalFactory {
  /** Opens or creates a journal; the name is [a-z0-9-]{1,80}. */
  open(name: string): Promise<Journal>;
  list(): Promise<readonly string[]>;
  remove(name: string): Promise<void>;
}
