import { decode, encode, isMapOf } from "../encoding/codec.ts";
import { limits } from "../limits.ts";

/** SG5: what one seat read at a source, or why it read nothing. */
export type Reading =
  { readonly kind: "read"; readonly text: string } | { readonly kind: "failed"; readonly reason: string };

/** The block in which a host gives a reading to its seat, and keeps it in the journal. */
export function readingBlock(reading: Reading): Uint8Array {
  return encode({ ...reading });
}

/** The reading in a host's block; null for any other bytes. */
export function readingIn(block: Uint8Array): Reading | null {
  const value = decode(block, limits.sourceBytes + BLOCK_HEAD_BYTES);
  if (isMapOf(value, ["kind", "text"]) && value.kind === "read" && typeof value.text === "string")
    return { kind: "read", text: value.text };
  if (isMapOf(value, ["kind", "reason"]) && value.kind === "failed" && typeof value.reason === "string")
    return { kind: "failed", reason: value.reason };
  return null;
}

/** Bytes of a reading's block beside the text, at most. */
const BLOCK_HEAD_BYTES = 64;
