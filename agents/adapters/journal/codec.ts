import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { maxRecordBytes } from "../../ports/journal.ts";

/**
 * The bytes of a journal.
 *
 *     file   = magic (8) | salt (16) | record*
 *     record = length u32 | crc32(length, salt, index) u32 | sha256(salt, index, payload)[0..8] | payload | end byte
 *
 * All integers are big-endian. The header has its own checksum, so a damaged length is never taken for a record that the
 * crash cut short; salt and index are hashed, so a record of another journal or place does not pass; the end byte is not
 * zero, so a record that was written to its end never looks like blocks which the file system had allocated but not written.
 */
const MAGIC = Buffer.from("cnclvj01", "latin1");
const SALT_BYTES = 16;
const RECORD_HEADER_BYTES = 16;
const END_BYTE = 0xa5;
const SECTOR_BYTES = 512;
const SCAN_BYTES = 1 << 20;

export const JOURNAL_HEADER_BYTES = MAGIC.length + SALT_BYTES;

/** Reads stored bytes at any place; returns fewer than asked only at the end. */
export type ReadAt = (offset: number, length: number) => Promise<Uint8Array>;

/**
 * How the scan ended. `end` is where the next record belongs; bytes after it are an append that a crash interrupted.
 */
export type ScanEnd =
  | { readonly kind: "whole"; readonly end: number; readonly records: number; readonly torn: boolean }
  | { readonly kind: "corrupt"; readonly offset: number; readonly reason: string };

export function encodeJournalHeader(salt: Uint8Array): Uint8Array {
  return Buffer.concat([MAGIC, salt]);
}

/**
 * Returns the salt of a whole header; `torn` for a header that a crash interrupted, which happens only before the first
 * record; `corrupt` for anything else.
 */
export function decodeJournalHeader(bytes: Uint8Array, size: number): Uint8Array | "torn" | "corrupt" {
  const magic = bytes.subarray(0, MAGIC.length);
  if (bytes.length >= JOURNAL_HEADER_BYTES && MAGIC.equals(magic))
    return bytes.slice(MAGIC.length, JOURNAL_HEADER_BYTES);
  if (size > JOURNAL_HEADER_BYTES) return "corrupt";
  const cut = size < JOURNAL_HEADER_BYTES && MAGIC.subarray(0, magic.length).equals(magic);
  return cut || bytes.every((byte) => byte === 0) ? "torn" : "corrupt";
}

export function encodeRecord(salt: Uint8Array, index: number, payload: Uint8Array): Uint8Array {
  if (payload.length > maxRecordBytes)
    throw new RangeError(`a journal record has ${payload.length} bytes, at most ${maxRecordBytes} are allowed`);
  const record = Buffer.alloc(RECORD_HEADER_BYTES + payload.length + 1);
  record.writeUInt32BE(payload.length, 0);
  record.writeUInt32BE(headerChecksum(payload.length, salt, index), 4);
  record.set(payloadChecksum(salt, index, payload), 8);
  record.set(payload, RECORD_HEADER_BYTES);
  record[record.length - 1] = END_BYTE;
  return record;
}

/** Yields the payloads in order and returns how it ended; nothing is yielded from beyond the first damage. */
export async function* scanRecords(
  readAt: ReadAt,
  size: number,
  salt: Uint8Array,
): AsyncGenerator<Uint8Array, ScanEnd> {
  const read = buffered(readAt, size);
  let offset = JOURNAL_HEADER_BYTES;
  for (let index = 0; ; index++) {
    if (offset >= size) return { kind: "whole", end: offset, records: index, torn: false };
    const header = await read(offset, RECORD_HEADER_BYTES);
    const whole = header.length === RECORD_HEADER_BYTES;
    const length = whole ? Buffer.from(header).readUInt32BE(0) : 0;
    const lengthHolds =
      whole && length <= maxRecordBytes && Buffer.from(header).readUInt32BE(4) === headerChecksum(length, salt, index);
    const next = offset + RECORD_HEADER_BYTES + length + 1;
    if (whole && !lengthHolds)
      return await damaged(read, offset, offset + RECORD_HEADER_BYTES, size, index, "record header");
    if (!whole || next > size) return { kind: "whole", end: offset, records: index, torn: true };
    const body = await read(offset + RECORD_HEADER_BYTES, length + 1);
    const payload = body.subarray(0, length);
    const sound = body[length] === END_BYTE && payloadChecksum(salt, index, payload).equals(header.subarray(8));
    if (!sound) return await damaged(read, offset, next, size, index, "record");
    yield Uint8Array.from(payload);
    offset = next;
  }
}

/**
 * Classifies a damaged record. If all its bytes are there, it was acknowledged and is corrupt, unless the file system
 * extended the file before it wrote the data: then whole sectors up to the end of the file are zero, and it is a torn
 * append.
 */
async function damaged(
  read: ReadAt,
  offset: number,
  end: number,
  size: number,
  index: number,
  what: string,
): Promise<ScanEnd> {
  const written = await lastNonZero(read, offset, size);
  const sectorEnd = Math.ceil(written / SECTOR_BYTES) * SECTOR_BYTES;
  if (sectorEnd < end || written <= offset) return { kind: "whole", end: offset, records: index, torn: true };
  return { kind: "corrupt", offset, reason: `the checksum of ${what} ${index} does not match` };
}

/** Returns the offset after the last byte that is not zero; `from` if all are zero. */
async function lastNonZero(read: ReadAt, from: number, size: number): Promise<number> {
  for (let end = size; end > from; end -= SCAN_BYTES) {
    const start = Math.max(from, end - SCAN_BYTES);
    const last = (await read(start, end - start)).findLastIndex((byte) => byte !== 0);
    if (last >= 0) return start + last + 1;
  }
  return from;
}

function headerChecksum(length: number, salt: Uint8Array, index: number): number {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(length, 0);
  bytes.writeBigUInt64BE(BigInt(index), 4);
  return crc32(bytes, crc32(salt));
}

function payloadChecksum(salt: Uint8Array, index: number, payload: Uint8Array): Buffer {
  const position = Buffer.alloc(8);
  position.writeBigUInt64BE(BigInt(index));
  return createHash("sha256").update(salt).update(position).update(payload).digest().subarray(0, 8);
}

/** Reads large pieces, so that small records do not cost a system call each. Never returns bytes from `size` on. */
function buffered(readAt: ReadAt, size: number): ReadAt {
  let start = 0;
  let piece: Uint8Array = new Uint8Array(0);
  return async (offset, length) => {
    const wanted = Math.min(length, size - offset);
    if (offset < start || offset + wanted > start + piece.length) {
      piece = await readAt(offset, Math.min(Math.max(wanted, SCAN_BYTES), size - offset));
      start = offset;
    }
    return piece.subarray(offset - start, offset - start + wanted);
  };
}
