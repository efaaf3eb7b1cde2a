import { decode, encode, isMapOf } from "../encoding/codec.ts";
import { linesOf, passagesOf, passagesOfEach } from "./passages.ts";
import { isSearch } from "./source.ts";
import { decodeSnapshot, READING_FAILURES, type Reading, type ReadingFailure } from "./snapshot.ts";

/** SG5: what a seat keeps of a reading: its text with the passages (SG6), or why it has no text. */
export type Read = ReadText | { readonly kind: "failed"; readonly reason: ReadingFailure };

export interface ReadText {
  readonly kind: "read";
  readonly text: string;
  /** To cut a long text takes time, so it is cut once. */
  readonly passages: readonly string[];
}

export function readText(text: string, sources = 1): ReadText {
  return { kind: "read", text, passages: passagesOf(text, passagesOfEach(sources)) };
}

/** SG6: what a search brought. Its last line ends like the others, so that a line's place does not tell in its passage. */
function readLines(text: string, sources: number): ReadText {
  const lines = text === "" ? "" : `${text}\n`;
  return { kind: "read", text: lines, passages: linesOf(lines, passagesOfEach(sources)) };
}

/** The block in which a host gives a reading to its seat and keeps it in the journal: the snapshot, or the failure. */
export function readingBlock(reading: Reading): Uint8Array {
  return reading.kind === "read" ? reading.block : encode({ failed: reading.reason });
}

/** What a host's block says of one of so many sources; null for any other bytes. */
export function readIn(block: Uint8Array, sources: number): Read | null {
  const snapshot = decodeSnapshot(block);
  if (snapshot !== null)
    return isSearch(snapshot.source) ? readLines(snapshot.text, sources) : readText(snapshot.text, sources);
  const value = decode(block, MAX_FAILURE_BYTES);
  const reason = isMapOf(value, ["failed"]) && READING_FAILURES.find((one) => one === value.failed);
  return reason ? { kind: "failed", reason } : null;
}

const MAX_FAILURE_BYTES = 64;
