import { bytesToHex } from "./bytes.ts";
import { isReservedKey, MAX_DEPTH, type BlockValue } from "./block-value.ts";
import type { Digest } from "../types.ts";

/**
 * Reads canonical dag-cbor in one pass. It refuses every byte that the encoder would not have written for the value, so
 * that equal values have equal bytes and nothing has to be encoded again to see that.
 */
export interface Decoded {
  readonly value: BlockValue;
  /** The bytes of each entry's value, if the value is a map. They alias the input. */
  readonly parts: ReadonlyMap<string, Uint8Array>;
}

/** Throws a RangeError on bytes that are not canonical. `links`: a CID is a link, and plain data that looks like a link is refused. */
export function decodeStrictly(bytes: Uint8Array, links: boolean): Decoded {
  const reader = new Reader(bytes, links);
  const value = reader.value(0);
  if (!reader.ended) throw new RangeError("decode: bytes after the end");
  return { value, parts: reader.parts };
}

/** Reads the value that the bytes begin with, without links, and where it ends. Throws as `decodeStrictly` does. */
export function decodeFirst(bytes: Uint8Array): { readonly value: BlockValue; readonly end: number } {
  const reader = new Reader(bytes, false);
  const value = reader.value(0);
  return { value, end: reader.at };
}

/** Tag 42 and the head of its bytes, then of the only kind of CID: a zero, version 1, dag-cbor, sha2-256, 32 bytes. */
const LINK_HEAD = [0xd8, 0x2a, 0x58, 0x25, 0x00, 0x01, 0x71, 0x12, 0x20] as const;
const DIGEST_BYTES = 32;
const HIGH_WORD = 0x1_0000_0000;
/** The highest upper half of a safe integer. */
const MAX_HIGH = 0x1f_ffff;
/** Code units that become text at once: JavaScript bounds the arguments of a call. */
const CHUNK = 1_024;
/** The least code point of two units. */
const HIGH_CODE = 0x1_0000;
/** The least code point that takes so many bytes of UTF-8. */
const LEAST_CODE = [0, 0, 0x80, 0x800, 0x1_0000] as const;

class Reader {
  readonly parts = new Map<string, Uint8Array>();
  readonly #bytes: Uint8Array;
  readonly #links: boolean;
  #at = 0;

  constructor(bytes: Uint8Array, links: boolean) {
    // Not a Buffer, whose slices alias it.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#links = links;
  }

  get at(): number {
    return this.#at;
  }

  get ended(): boolean {
    return this.#at === this.#bytes.length;
  }

  value(depth: number): BlockValue {
    if (depth > MAX_DEPTH) throw new RangeError(`decode: nesting is deeper than ${MAX_DEPTH}`);
    const start = this.#take(1);
    const head = this.#bytes[start] as number;
    switch (head >> 5) {
      case 0:
        return this.#argument(head);
      case 1:
        return this.#negative(head);
      case 2:
        return this.#byteString(head);
      case 3:
        return this.#text(head);
      case 4:
        return this.#array(head, depth);
      case 5:
        return this.#map(head, depth);
      case 6:
        return this.#link(start);
      default:
        return simple(head);
    }
  }

  /** The number in or after the head, which has to be in its shortest form. */
  #argument(head: number): number {
    const info = head & 31;
    if (info < 24) return info;
    switch (info) {
      case 24:
        return atLeast(this.#unsigned(1), 24);
      case 25:
        return atLeast(this.#unsigned(2), 0x100);
      case 26:
        return atLeast(this.#unsigned(4), 0x1_0000);
      case 27: {
        const high = this.#unsigned(4);
        if (high > MAX_HIGH) throw new RangeError("decode: an integer is not safe");
        return atLeast(high * HIGH_WORD + this.#unsigned(4), HIGH_WORD);
      }
      default:
        throw new RangeError("decode: an indefinite length");
    }
  }

  #negative(head: number): number {
    const value = -1 - this.#argument(head);
    if (!Number.isSafeInteger(value)) throw new RangeError("decode: an integer is not safe");
    return value;
  }

  #byteString(head: number): Uint8Array {
    const length = this.#argument(head);
    const start = this.#take(length);
    return this.#bytes.slice(start, start + length);
  }

  #text(head: number): string {
    const length = this.#argument(head);
    const start = this.#take(length);
    return readText(this.#bytes, start, start + length);
  }

  #array(head: number, depth: number): readonly BlockValue[] {
    const length = this.#argument(head);
    const items: BlockValue[] = [];
    for (let index = 0; index < length; index += 1) items.push(this.value(depth + 1));
    return items;
  }

  #map(head: number, depth: number): BlockValue {
    const length = this.#argument(head);
    const entries: Record<string, BlockValue> = {};
    let [previous, previousEnd] = [0, 0];
    for (let index = 0; index < length; index += 1) {
      const keyHead = this.#bytes[this.#take(1)] as number;
      if (keyHead >> 5 !== 3) throw new RangeError("decode: a key is no text");
      const keyStart = this.#at;
      const key = this.#text(keyHead);
      const keyEnd = this.#at;
      if (isReservedKey(key)) throw new RangeError("decode: a key is reserved");
      if (index > 0) this.#requireOrder(previous, previousEnd, keyStart, keyEnd);
      [previous, previousEnd] = [keyStart, keyEnd];
      entries[key] = this.value(depth + 1);
      if (depth === 0) this.parts.set(key, this.#bytes.subarray(keyEnd, this.#at));
    }
    if (this.#links && length === 1 && "link" in entries) throw new RangeError("decode: data that looks like a link");
    return entries;
  }

  #link(start: number): BlockValue {
    if (!this.#links) throw new RangeError("decode: a link, where there are none");
    this.#take(LINK_HEAD.length - 1 + DIGEST_BYTES);
    if (LINK_HEAD.some((byte, index) => this.#bytes[start + index] !== byte))
      throw new RangeError("decode: a tag or a CID of another kind");
    return { link: bytesToHex(this.#bytes.subarray(start + LINK_HEAD.length, this.#at)) as Digest };
  }

  /** Keys ascend: shorter ones first, then bytewise. Both begin with their head, which orders them by length. */
  #requireOrder(first: number, firstEnd: number, second: number, secondEnd: number): void {
    const length = firstEnd - first;
    let order = length - (secondEnd - second);
    for (let index = 0; order === 0 && index < length; index += 1)
      order = (this.#bytes[first + index] as number) - (this.#bytes[second + index] as number);
    if (order >= 0) throw new RangeError("decode: keys are out of order or repeated");
  }

  #unsigned(length: number): number {
    const start = this.#take(length);
    let value = 0;
    for (let index = start; index < this.#at; index += 1) value = value * 256 + (this.#bytes[index] as number);
    return value;
  }

  /** Passes over the next bytes and returns where they begin. */
  #take(length: number): number {
    const start = this.#at;
    if (start + length > this.#bytes.length) throw new RangeError("decode: the bytes end too early");
    this.#at = start + length;
    return start;
  }
}

function atLeast(value: number, least: number): number {
  if (value < least) throw new RangeError("decode: a number is not in its shortest form");
  return value;
}

function simple(head: number): boolean | null {
  switch (head) {
    case 0xf4:
      return false;
    case 0xf5:
      return true;
    case 0xf6:
      return null;
    default:
      throw new RangeError("decode: a float or a simple value");
  }
}

/** UTF-8, a byte order mark like any other character. Throws a RangeError where it is malformed. */
function readText(bytes: Uint8Array, start: number, end: number): string {
  let result = "";
  let units: number[] = [];
  for (let at = start; at < end;) {
    const lead = bytes[at] as number;
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const code = length === 1 ? lead : codeAt(bytes, at, end, length);
    if (code < HIGH_CODE) units.push(code);
    else units.push(0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
    at += length;
    if (units.length < CHUNK && at < end) continue;
    result += String.fromCharCode(...units);
    units = [];
  }
  return result;
}

/** The code point of 2 to 4 bytes. */
function codeAt(bytes: Uint8Array, start: number, end: number, length: number): number {
  const lead = bytes[start] as number;
  let isSound = lead >= 0xc2 && lead <= 0xf4 && start + length <= end;
  let code = lead & (0x7f >> length);
  for (let index = start + 1; index < start + length; index += 1) {
    const next = bytes[index] ?? 0;
    isSound &&= (next & 0xc0) === 0x80;
    code = (code << 6) | (next & 0x3f);
  }
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  if (isSound && !isSurrogate && code >= (LEAST_CODE[length] as number) && code <= 0x10_ffff) return code;
  throw new RangeError("decode: text is not UTF-8");
}
