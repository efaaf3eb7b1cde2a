import { base32 } from "multiformats/bases/base32";
import { bytesToHex, concat, hexToBytes } from "./bytes.ts";
import type { Digest } from "../types.ts";

const DIGEST_BYTES = 32;
/** What the CID of a message begins with: version 1, dag-cbor, and sha2-256 of 32 bytes. */
const PREFIX = Uint8Array.of(0x01, 0x71, 0x12, DIGEST_BYTES);
/** "b" + base32 of 36 bytes. */
const TEXT_LENGTH = 59;

/** Returns a digest's CID in base32, lower case. Throws a RangeError for a digest of another length. */
export function cidString(digest: Digest): string {
  const bytes = hexToBytes(digest);
  if (bytes.length !== DIGEST_BYTES) throw new RangeError(`encode: ${digest} is not a ${DIGEST_BYTES}-byte digest`);
  return base32.encode(concat(PREFIX, bytes));
}

/** The inverse of `cidString`; null for any other text, other spellings of the same CID included. */
export function digestFromCid(text: string): Digest | null {
  if (text.length !== TEXT_LENGTH) return null;
  try {
    const digest = bytesToHex(base32.decode(text).subarray(PREFIX.length)) as Digest;
    return cidString(digest) === text ? digest : null;
  } catch {
    return null;
  }
}
