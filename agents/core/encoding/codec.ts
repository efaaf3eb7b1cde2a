import * as dagCbor from "@ipld/dag-cbor";
import { CID } from "multiformats/cid";
import { create as createMultihash } from "multiformats/hashes/digest";
import { isReservedKey, MAX_DEPTH, type BlockLink, type BlockValue } from "./block-value.ts";
import { hexToBytes, sha256 } from "./bytes.ts";
import { decodeFirst, decodeStrictly, type Decoded } from "./strict-decoder.ts";
import type { Digest, Value } from "../types.ts";

const DAG_CBOR_CODE = 0x71;
const SHA2_256_CODE = 0x12;

/** Encodes canonically: equal values, equal bytes. Throws on what is not a `Value`, which is a bug of ours. */
export function encode(value: Value): Uint8Array {
  return dagCbor.encode(toIpld(value, false, 0));
}

/**
 * Decodes untrusted bytes; null when malformed, longer than `maxBytes`, or not exactly what `encode` would give.
 * Never throws. A block that holds nothing but null is null, too: no message is that.
 */
export function decode(bytes: Uint8Array, maxBytes: number): Value | null {
  return decodeInParts(bytes, maxBytes)?.value ?? null;
}

/** As `decode`, with the bytes of each entry's value if it is a map: they are what `encode` gives for that value. */
export function decodeInParts(
  bytes: Uint8Array,
  maxBytes: number,
): { readonly value: Value; readonly parts: ReadonlyMap<string, Uint8Array> } | null {
  // Without links a BlockValue is a Value.
  return decodeCanonical(bytes, maxBytes, false) as ReturnType<typeof decodeInParts>;
}

/** Decodes the value that untrusted bytes begin with, and says where it ends; null as `decode` gives it. */
export function decodeBeginning(bytes: Uint8Array): { readonly value: Value; readonly end: number } | null {
  try {
    // Without links a BlockValue is a Value.
    return decodeFirst(bytes) as { readonly value: Value; readonly end: number };
  } catch {
    return null;
  }
}

/** As `encode`, with links. */
export function encodeBlock(value: BlockValue): Uint8Array {
  return dagCbor.encode(toIpld(value, true, 0));
}

/** As `decode`, with links to CIDv1 / dag-cbor / sha2-256 blocks; any other CID is refused. */
export function decodeBlock(bytes: Uint8Array, maxBytes: number): BlockValue | null {
  return decodeBlockInParts(bytes, maxBytes)?.value ?? null;
}

/** As `decodeBlock`, with the bytes of each entry's value if it is a map. */
export function decodeBlockInParts(bytes: Uint8Array, maxBytes: number): Decoded | null {
  return decodeCanonical(bytes, maxBytes, true);
}

/** sha2-256 of the encoding: the digest inside the value's CID. */
export function digestOf(value: Value): Digest {
  return sha256(encode(value));
}

function decodeCanonical(bytes: Uint8Array, maxBytes: number, links: boolean): Decoded | null {
  if (bytes.length > maxBytes) return null;
  try {
    return decodeStrictly(bytes, links);
  } catch {
    return null;
  }
}

function toIpld(value: BlockValue, links: boolean, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new RangeError(`encode: nesting is deeper than ${MAX_DEPTH}`);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new RangeError(`encode: ${value} is not a safe integer`);
    return value;
  }
  if (typeof value === "string") {
    if (!value.isWellFormed()) throw new RangeError("encode: a string has a lone surrogate");
    return value;
  }
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((item: BlockValue) => toIpld(item, links, depth + 1));
  if (typeof value !== "object") throw new RangeError(`encode: a ${typeof value} has no encoding`);
  if (links && isLink(value)) return cidOf(value.link);
  const result: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (isReservedKey(key) || !key.isWellFormed())
      throw new RangeError(`encode: the key ${JSON.stringify(key)} is reserved`);
    result[key] = toIpld(item, links, depth + 1);
  }
  return result;
}

/** True for a link of a value to encode, or of a decoded block. */
export function isLink(value: object): value is BlockLink {
  const keys = Object.keys(value);
  return keys.length === 1 && keys[0] === "link";
}

/** CIDv1, dag-cbor, sha2-256. */
export function cidOf(digest: Digest): CID {
  const bytes = hexToBytes(digest);
  if (bytes.length !== 32) throw new RangeError(`encode: ${digest} is not a 32-byte digest`);
  return CID.createV1(DAG_CBOR_CODE, createMultihash(SHA2_256_CODE, bytes));
}

/** Whether a decoded value is a map with exactly these keys. */
export function isMapOf<Key extends string>(
  value: Value | undefined,
  keys: readonly Key[],
): value is { readonly [key in Key]: Value } {
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof Uint8Array) return false;
  const own = Object.keys(value);
  return own.length === keys.length && keys.every((key) => own.includes(key));
}
