import * as dagCbor from "@ipld/dag-cbor";
import { base32 } from "multiformats/bases/base32";
import { CID } from "multiformats/cid";
import { create as createMultihash } from "multiformats/hashes/digest";
import { bytesToHex, compareBytes, hexToBytes, sha256 } from "./bytes.ts";
import type { Digest, Value } from "../types.ts";

const DAG_CBOR_CODE = 0x71;
const SHA2_256_CODE = 0x12;
const MAX_DEPTH = 16;
/** "b" + base32 of 36 bytes. */
const CID_TEXT_LENGTH = 59;

/** An IPLD link (CBOR tag 42) to a dag-cbor block, so that pinning a block pins what it refers to. */
export interface BlockLink {
  readonly link: Digest;
}

/**
 * What a block with links holds. An object whose only key is `link` always is a link: plain data of that shape
 * has no encoding in a block, and bytes that claim one are refused.
 */
export type BlockValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | BlockLink
  | readonly BlockValue[]
  | { readonly [key: string]: BlockValue };

/** Encodes canonically: equal values, equal bytes. Throws on what is not a `Value`, which is a bug of ours. */
export function encode(value: Value): Uint8Array {
  return dagCbor.encode(toIpld(value, false, 0));
}

/**
 * Decodes untrusted bytes; null when malformed, longer than `maxBytes`, or not exactly what `encode` would give.
 * Never throws. A block that holds nothing but null is null, too: no message is that.
 */
export function decode(bytes: Uint8Array, maxBytes: number): Value | null {
  // Without links a BlockValue is a Value.
  return decodeCanonical(bytes, maxBytes, false) as Value;
}

/** As `encode`, with links. */
export function encodeBlock(value: BlockValue): Uint8Array {
  return dagCbor.encode(toIpld(value, true, 0));
}

/** As `decode`, with links to CIDv1 / dag-cbor / sha2-256 blocks; any other CID is refused. */
export function decodeBlock(bytes: Uint8Array, maxBytes: number): BlockValue | null {
  return decodeCanonical(bytes, maxBytes, true);
}

/** sha2-256 of the encoding: the digest inside the value's CID. */
export function digestOf(value: Value): Digest {
  return sha256(encode(value));
}

/** `cidOf` in base32, lower case. */
export function cidString(digest: Digest): string {
  return cidOf(digest).toString(base32);
}

/** The inverse of `cidString`; null for any other text, other spellings of the same CID included. */
export function digestFromCid(text: string): Digest | null {
  if (text.length !== CID_TEXT_LENGTH) return null;
  try {
    const digest = digestOfCid(CID.parse(text, base32));
    return cidString(digest) === text ? digest : null;
  } catch {
    return null;
  }
}

/** Whatever is decoded loosely here, of whatever depth, key or CID, does not survive the strict encoder and the comparison. */
function decodeCanonical(bytes: Uint8Array, maxBytes: number, links: boolean): BlockValue {
  if (bytes.length > maxBytes) return null;
  try {
    const value = fromIpld(dagCbor.decode(bytes));
    return compareBytes(dagCbor.encode(toIpld(value, links, 0)), bytes) === 0 ? value : null;
  } catch {
    // Malformed input, also nesting that exhausts the stack.
    return null;
  }
}

function fromIpld(value: unknown): BlockValue {
  if (Array.isArray(value)) return value.map(fromIpld);
  if (value instanceof CID) return { link: digestOfCid(value) };
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value as BlockValue;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fromIpld(item)]));
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

/** "/" marks links inside the libraries; "__proto__" is not an ordinary property in JavaScript. */
function isReservedKey(key: string): boolean {
  return key === "/" || key === "__proto__";
}

function isLink(value: object): value is BlockLink {
  const keys = Object.keys(value);
  return keys.length === 1 && keys[0] === "link";
}

/** CIDv1, dag-cbor, sha2-256. */
export function cidOf(digest: Digest): CID {
  const bytes = hexToBytes(digest);
  if (bytes.length !== 32) throw new RangeError(`encode: ${digest} is not a 32-byte digest`);
  return CID.createV1(DAG_CBOR_CODE, createMultihash(SHA2_256_CODE, bytes));
}

/** The digest of a CID of any kind: compare `cidOf` of it with where the CID came from. */
function digestOfCid(cid: CID): Digest {
  return bytesToHex(cid.multihash.digest) as Digest;
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
