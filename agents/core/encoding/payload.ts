import { isReadable } from "../request/text.ts";
import { bytesToHex, utf8 } from "./bytes.ts";
import type { PayloadMap } from "../protocol.ts";
import type { Digest, Value } from "../types.ts";

/** Readers of decoded payloads; everything in them is a stranger's. */

export function isPayloadMap(value: Value | undefined): value is PayloadMap {
  return (
    value !== null &&
    value !== undefined &&
    typeof value === "object" &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  );
}

/** 32 bytes as a digest; null for anything else. */
export function asDigest(value: Value | undefined): Digest | null {
  return value instanceof Uint8Array && value.length === 32 ? (bytesToHex(value) as Digest) : null;
}

/** Readable text of at most so many UTF-8 bytes. */
export function isTextOf(value: Value | undefined, maxBytes: number): value is string {
  return typeof value === "string" && value.length <= maxBytes && isReadable(value) && utf8(value).length <= maxBytes;
}

/** Decodes every entry; null when the value is no list, too long, or one entry is malformed. */
export function listOf<Entry>(
  value: Value | undefined,
  maxLength: number,
  decode: (entry: Value) => Entry | null,
): readonly Entry[] | null {
  if (!Array.isArray(value) || value.length > maxLength) return null;
  const list: Entry[] = [];
  for (const entry of value as readonly Value[]) {
    const decoded = decode(entry);
    if (decoded === null) return null;
    list.push(decoded);
  }
  return list;
}

/** True if two entries of a message have the same key. */
export function hasTwice<Entry>(entries: readonly Entry[], key: (entry: Entry) => string): boolean {
  return new Set(entries.map(key)).size !== entries.length;
}
