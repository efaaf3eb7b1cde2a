import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex as toHex, concatBytes, hexToBytes as fromHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Digest, Hex, RequestId } from "../types.ts";

export function bytesToHex(bytes: Uint8Array): Hex {
  return `0x${toHex(bytes)}`;
}

/** Throws on malformed hex; check untrusted text with `isHex` first. */
export function hexToBytes(hex: Hex): Uint8Array {
  if (!hex.startsWith("0x")) throw new RangeError(`hexToBytes: ${hex} does not start with 0x`);
  return fromHex(hex.slice(2));
}

/** True for 0x-prefixed lower-case hex of exactly `length` bytes. */
export function isHex(text: string, length: number): text is Hex {
  return text.length === 2 + 2 * length && /^0x[0-9a-f]*$/.test(text);
}

/** Throws on a lone surrogate, which has no UTF-8: model and file text is made well-formed where it enters. */
export function utf8(text: string): Uint8Array {
  if (!text.isWellFormed()) throw new RangeError("utf8: the text has a lone surrogate");
  return utf8ToBytes(text);
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return concatBytes(...parts);
}

/** Bytewise, a prefix before its extensions. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index += 1) {
    const difference = (a[index] as number) - (b[index] as number);
    if (difference !== 0) return difference < 0 ? -1 : 1;
  }
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
}

/** The order of the bytes; lower-case ASCII hex sorts by code unit exactly as its bytes do. */
export function compareHex(a: Hex, b: Hex): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

export function keccak256(bytes: Uint8Array): Digest {
  return bytesToHex(keccak_256(bytes)) as Digest;
}

export function sha256(bytes: Uint8Array): Digest {
  return bytesToHex(nobleSha256(bytes)) as Digest;
}

/** An unsigned number as 32 bytes, big-endian. */
export function word(value: bigint): Uint8Array {
  return fromHex(uint(value, 256n).toString(16).padStart(64, "0"));
}

/** What `word` gives for a number of 32 bits, in a tenth of the time: no big integer, no text. */
export function word32(value: number): Uint8Array {
  if (value !== value >>> 0) throw new RangeError(`${value} is not an unsigned integer of 32 bits`);
  const bytes = new Uint8Array(32);
  for (let index = 31, rest = value; rest > 0; index -= 1, rest >>>= 8) bytes[index] = rest & 0xff;
  return bytes;
}

/** TR5: a request id as 16 bytes, big-endian. Throws when it is negative or above 2^128 - 1. */
export function encodeRequestId(id: RequestId): Uint8Array {
  return fromHex(uint(id, 128n).toString(16).padStart(32, "0"));
}

/** The inverse of `encodeRequestId`; null for anything but 16 bytes. */
export function decodeRequestId(value: unknown): RequestId | null {
  return value instanceof Uint8Array && value.length === 16 ? (BigInt(bytesToHex(value)) as RequestId) : null;
}

/** Returns the value itself; throws when it does not fit that many bits without a sign. */
export function uint(value: bigint, bits: bigint): bigint {
  if (value < 0n || value >= 1n << bits) throw new RangeError(`${value} is not an unsigned integer of ${bits} bits`);
  return value;
}
