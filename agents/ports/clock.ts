export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Returns a cancel function. */
  schedule(delayMs: number, callback: () => void): () => void;
}
