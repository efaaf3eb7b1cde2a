import * as dagCbor from "@ipld/dag-cbor";
import { CID } from "multiformats/cid";
import { varint } from "multiformats";
import { sha256 } from "#sha256";
import { concat } from "../../core/encoding/bytes.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import { cidOf, decodeLinks, otherKind, MAX_BLOCK_BYTES, MAX_PINNED_BLOCKS, MAX_PINNED_BYTES } from "./block.ts";
import { walkDag } from "./walk.ts";

/**
 * CAR version 1, streaming and bounded: at most one block is held in memory, whatever length the file claims. Libraries
 * believe the length of a section and allocate it.
 */

const MAX_HEADER_BYTES = 4_096;
/** Longest CID that is read. Ours have 36 bytes; others are read only to be named in the error. */
const MAX_CID_BYTES = 128;
const MAX_VARINT_BYTES = 9;
/** Bytes of a whole file, with the headers of its sections. */
const MAX_CAR_BYTES = MAX_PINNED_BYTES + MAX_HEADER_BYTES + MAX_PINNED_BLOCKS * (MAX_CID_BYTES + MAX_VARINT_BYTES);

export interface CarBlock {
  readonly digest: Digest;
  readonly bytes: Uint8Array;
}

type CarFlaw =
  "header" | "version" | "truncated" | "too-long" | "hash-function" | "codec" | "hash" | "foreign" | "incomplete";

/**
 * Writes the DAG below a root, or the root alone, as a CAR: parents first and every block once. Throws what `get`
 * throws, and BLOCK_INVALID.
 */
export async function* writeCar(
  root: Digest,
  get: (digest: Digest) => Promise<Uint8Array>,
  isWhole = true,
): AsyncGenerator<Uint8Array> {
  const header = dagCbor.encode({ roots: [cidOf(root)], version: 1 });
  yield concat(prefix(header.length), header);
  for await (const { block } of walkDag(root, get)) {
    const { cid, bytes } = block;
    yield concat(prefix(cid.bytes.length + bytes.length), cid.bytes, bytes);
    if (!isWhole) return;
  }
}

function prefix(length: number): Uint8Array {
  return varint.encodeTo(length, new Uint8Array(varint.encodingLength(length)));
}

/**
 * AV2: reads the blocks of the one DAG in a CAR, parents first, each once and with the right hash. Throws CAR_INVALID,
 * which names offset and CID, for any other order, for a block that no earlier one links to, and for another hash
 * function or codec.
 */
export async function readCar(
  source: AsyncIterable<Uint8Array>,
): Promise<{ readonly root: Digest; readonly blocks: AsyncGenerator<CarBlock> }> {
  const reader = new ByteReader(source);
  const root = await readCarHeader(reader);
  return { root, blocks: readBlocks(reader, root) };
}

async function readCarHeader(reader: ByteReader): Promise<Digest> {
  let header: { readonly version?: unknown; readonly roots?: unknown } | null;
  try {
    const length = await readLength(reader, MAX_HEADER_BYTES);
    header = length === null ? null : dagCbor.decode(await reader.take(length));
  } catch (error) {
    if (error instanceof ConclaveError && error.code !== "CAR_INVALID") throw error;
    throw carInvalid("header", 0, "it is no CAR: it does not begin with the header of one", error);
  }
  if (header === null) throw carInvalid("header", 0, "it has no header");
  if (header.version !== 1) throw carInvalid("version", 0, "it is no CAR of version 1");
  const roots = Array.isArray(header.roots) ? (header.roots as unknown[]) : [];
  const [root] = roots;
  if (roots.length !== 1 || !(root instanceof CID)) throw carInvalid("header", 0, "it has not one root");
  return requireOurs(root, 0);
}

async function* readBlocks(reader: ByteReader, root: Digest): AsyncGenerator<CarBlock> {
  const awaited = new Set<Digest>([root]);
  const known = new Set<Digest>();
  for (;;) {
    const offset = reader.offset;
    const length = await readLength(reader, MAX_BLOCK_BYTES + MAX_CID_BYTES);
    if (length === null) break;
    if (reader.offset + length > MAX_CAR_BYTES)
      throw carInvalid("too-long", offset, `it has more than ${MAX_CAR_BYTES} bytes, and no transcript does`);
    const { digest, bytes } = splitSection(await reader.take(length), offset);
    if (known.has(digest)) continue;
    const cid = cidOf(digest).toString();
    if (!awaited.has(digest)) throw carInvalid("foreign", offset, `block ${cid} has no earlier block that links to it`);
    if (sha256(bytes) !== digest) throw carInvalid("hash", offset, `the bytes of block ${cid} have another hash`);
    awaited.delete(digest);
    known.add(digest);
    for (const link of decodeLinks(digest, bytes).links) if (!known.has(link)) awaited.add(link);
    if (known.size + awaited.size > MAX_PINNED_BLOCKS)
      throw carInvalid("too-long", offset, `its DAG has more than ${MAX_PINNED_BLOCKS} blocks`);
    yield { digest, bytes };
  }
  const [missing] = awaited;
  if (missing !== undefined)
    throw carInvalid("incomplete", reader.offset, `block ${cidOf(missing).toString()} is not in it`);
}

function splitSection(section: Uint8Array, offset: number): CarBlock {
  let decoded: [CID, Uint8Array];
  try {
    decoded = CID.decodeFirst(section);
  } catch (error) {
    throw carInvalid("header", offset, "a section does not begin with a CID", error);
  }
  const [cid, bytes] = decoded;
  return { digest: requireOurs(cid, offset), bytes };
}

function requireOurs(cid: CID, offset: number): Digest {
  const kind = otherKind(cid);
  if ("digest" in kind) return kind.digest;
  const flaw = cid.version === 1 && cid.code === dagCbor.code ? "hash-function" : "codec";
  throw carInvalid(flaw, offset, `${cid.toString()} is a CID with ${kind.differs}`);
}

/** Reads a length; null at the end of the file. */
async function readLength(reader: ByteReader, most: number): Promise<number | null> {
  const offset = reader.offset;
  const bytes: number[] = [];
  for (;;) {
    const byte = await reader.next();
    if (byte === null && bytes.length === 0) return null;
    if (byte === null) throw carInvalid("truncated", offset, "it ends within a length");
    bytes.push(byte);
    if (byte < 0x80) break;
    if (bytes.length === MAX_VARINT_BYTES) throw carInvalid("too-long", offset, "a length has too many bytes");
  }
  let length: number;
  try {
    [length] = varint.decode(Uint8Array.from(bytes));
  } catch (error) {
    throw carInvalid("too-long", offset, "a length has more bytes than it needs", error);
  }
  if (length > most || length === 0)
    throw carInvalid("too-long", offset, `a section of ${length} bytes, where 1 to ${most} are allowed`);
  return length;
}

function carInvalid(kind: CarFlaw, offset: number, what: string, cause?: unknown): ConclaveError {
  return new ConclaveError(
    "CAR_INVALID",
    `Read the CAR failed at byte ${offset}: ${what}; export it again`,
    { kind, offset },
    cause,
  );
}

/** Reads bytes, and takes only as many chunks as it needs. */
class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array(0);
  #at = 0;
  #offset = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  get offset(): number {
    return this.#offset;
  }

  /** Returns the next byte; null at the end of the source. */
  async next(): Promise<number | null> {
    if (!(await this.#fill())) return null;
    this.#offset += 1;
    return this.#chunk[this.#at++] as number;
  }

  async take(length: number): Promise<Uint8Array> {
    const taken = new Uint8Array(length);
    for (let filled = 0; filled < length;) {
      if (!(await this.#fill())) throw carInvalid("truncated", this.#offset, "it ends within a section");
      const part = this.#chunk.subarray(this.#at, this.#at + length - filled);
      taken.set(part, filled);
      filled += part.length;
      this.#at += part.length;
      this.#offset += part.length;
    }
    return taken;
  }

  async #fill(): Promise<boolean> {
    while (this.#at === this.#chunk.length) {
      const { value, done } = await this.#source.next();
      if (done === true) return false;
      this.#chunk = value;
      this.#at = 0;
    }
    return true;
  }
}
