import { messageOf } from "../../core/errors.ts";
import type { Reading, ReadingFailure } from "../../core/sources/snapshot.ts";

/** EV12: ends a reading with its reason. */
export class ReadingError extends Error {
  readonly reason: ReadingFailure;

  constructor(reason: ReadingFailure, detail: string) {
    super(detail);
    this.name = "ReadingError";
    this.reason = reason;
  }
}

/** EV12: what a thrown error says about the source; without a reason of its own, `otherwise`. */
export function failedBy(error: unknown, otherwise: ReadingFailure): Reading {
  const reason = error instanceof ReadingError ? error.reason : otherwise;
  return { kind: "failed", reason, detail: messageOf(error).slice(0, MAX_DETAIL) };
}

const MAX_DETAIL = 500;
