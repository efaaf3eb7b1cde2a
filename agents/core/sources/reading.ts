import { decode, encode, isMapOf } from "../encoding/codec.ts";
import { decodeSnapshot, READING_FAILURES, type Reading, type ReadingFailure } from "./snapshot.ts";

/** SG5: what a seat keeps of a reading: its text, or why there is none. */
export type Read =
  { readonly kind: "read"; readonly text: string } | { readonly kind: "failed"; readonly reason: ReadingFailure };

/** The block in which a host gives a reading to its seat and keeps it in the journal: the snapshot, or the failure. */
export function readingBlock(reading: Reading): Uint8Array {
  return reading.kind === "read" ? reading.block : encode({ failed: reading.reason });
}

/** What a host's block says; null for any other bytes. */
export function readIn(block: Uint8Array): Read | null {
  const snapshot = decodeSnapshot(block);
  if (snapshot !== null) return { kind: "read", text: snapshot.text };
  const value = decode(block, MAX_FAILURE_BYTES);
  const reason = isMapOf(value, ["failed"]) && READING_FAILURES.find((one) => one === value.failed);
  return reason ? { kind: "failed", reason } : null;
}

const MAX_FAILURE_BYTES = 64;
