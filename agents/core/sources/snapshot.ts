import { hexToBytes, sha256, utf8 } from "../encoding/bytes.ts";
import { decode, encode, isMapOf } from "../encoding/codec.ts";
import { asDigest } from "../encoding/payload.ts";
import { limits } from "../limits.ts";
import { isSearch, parseSource } from "./source.ts";
import { truncateText, isNormalised, normaliseText } from "./text.ts";
import type { Digest, Value } from "../types.ts";

/** EV7: what a reader saw at a source: a function of the source, the extractor and what the source sent. No time, no name of the reader. */
export interface Snapshot {
  /** The source as the question names it. */
  readonly source: string;
  /** The URL after redirects; for other sources the source again. */
  readonly finalUrl: string;
  /** The status of HTTP; null where nothing is asked by HTTP. */
  readonly status: number | null;
  readonly mediaType: string;
  /** sha2-256 of the whole body, decompressed and otherwise as it came. */
  readonly raw: Digest;
  readonly title: string;
  readonly text: string;
  /** True if the text was longer. */
  readonly isCut: boolean;
  /** What made the text of the body: another version may make another text. */
  readonly extractor: Extractor;
}

export interface Extractor {
  readonly name: string;
  readonly version: string;
}

/** EV12: why a source is not read, in the order of the codes in messages; a new one goes to the end. */
export const READING_FAILURES = [
  "not-found",
  "refused",
  "blocked-address",
  "unreachable",
  "tls",
  "timeout",
  "too-large",
  "too-many-redirects",
  "server-error",
  "not-text",
  "undecodable",
  "no-such-value",
  "not-final",
  "not-there",
  "no-rpc",
  "rpc-error",
  "no-tool",
  "tool-error",
] as const;
export type ReadingFailure = (typeof READING_FAILURES)[number];

/** SG8: failures that lie with the source: whoever reads it meets them. */
export const LASTING_FAILURES: readonly ReadingFailure[] = [
  "not-found",
  "too-large",
  "too-many-redirects",
  "not-text",
  "undecodable",
  "no-such-value",
];

/** SG8: failures of a source that is still to come. */
export const PENDING_FAILURES: readonly ReadingFailure[] = ["not-final", "not-there"];

/** What a reader brings home. */
export type Reading =
  | { readonly kind: "read"; readonly digest: Digest; readonly block: Uint8Array; readonly snapshot: Snapshot }
  /** The detail is for the operator alone: it may name what only this reader's network knows. */
  | { readonly kind: "failed"; readonly reason: ReadingFailure; readonly detail: string };

/** Number of bytes of a snapshot's block beside its texts, at most. */
const BLOCK_HEAD_BYTES = 512;
const MAX_BLOCK_BYTES =
  limits.sourceNameBytes +
  limits.snapshotUrlBytes +
  3 * limits.snapshotWordBytes +
  limits.snapshotTitleBytes +
  limits.snapshotTextBytes +
  BLOCK_HEAD_BYTES;
const MAX_STATUS = 599;
/** A text that is cut ends so many bytes before the bound at most: three of a character that does not fit, and a space. */
const CUT_BYTES = 4;

/** EV8, EV9: makes the block of a snapshot; title and text may be any text and of any length. */
export function readingOf(seen: Omit<Snapshot, "isCut">): Reading {
  const { text, isCut } = truncateText(normaliseText(seen.text), limits.snapshotTextBytes);
  const title = truncateText(normaliseText(seen.title).replaceAll("\n", " "), limits.snapshotTitleBytes).text;
  const block = encodeSnapshot({ ...seen, title, text, isCut });
  // What the others will read of it, so that nobody ever sees another text.
  const snapshot = decodeSnapshot(block);
  if (snapshot === null) throw new RangeError(`readingOf: the snapshot of ${seen.source} breaks its own form`);
  return { kind: "read", digest: sha256(block), block, snapshot };
}

function encodeSnapshot({ raw, extractor, ...seen }: Snapshot): Uint8Array {
  return encode({ ...seen, raw: hexToBytes(raw), extractor: [extractor.name, extractor.version] });
}

const FIELDS = [
  "source",
  "finalUrl",
  "status",
  "mediaType",
  "raw",
  "title",
  "text",
  "isCut",
  "extractor",
] as const satisfies readonly (keyof Snapshot)[];

/** EV8: the snapshot in a block; null if the block is anything else than what `readingOf` makes. */
export function decodeSnapshot(block: Uint8Array): Snapshot | null {
  const value = decode(block, MAX_BLOCK_BYTES);
  if (value === null || !isMapOf(value, FIELDS)) return null;
  const { source, finalUrl, status, mediaType, title, text, isCut } = value;
  const raw = asDigest(value["raw"]);
  const extractor = decodeExtractor(value["extractor"]);
  if (!isName(source) || (finalUrl !== source && !isWord(finalUrl, limits.snapshotUrlBytes))) return null;
  if (!isWord(mediaType, limits.snapshotWordBytes) || !isStatus(status) || typeof isCut !== "boolean") return null;
  if (!isLine(title) || !isTextUpTo(text, limits.snapshotTextBytes)) return null;
  if (isCut && utf8(text).length < limits.snapshotTextBytes - CUT_BYTES) return null;
  return raw === null || extractor === null
    ? null
    : { source, finalUrl, status, mediaType, raw, title, text, isCut, extractor };
}

function decodeExtractor(value: Value): Extractor | null {
  if (!Array.isArray(value) || value.length !== 2) return null;
  const [name, version] = value as readonly Value[];
  return isWord(name, limits.snapshotWordBytes) && isWord(version, limits.snapshotWordBytes) ? { name, version } : null;
}

/** EV1: a word, or a search. */
function isName(value: Value): value is string {
  if (typeof value === "string" && isSearch(value)) return "source" in parseSource(value);
  return isWord(value, limits.sourceNameBytes);
}

/** Printable ASCII without spaces. */
function isWord(value: Value | undefined, maxBytes: number): value is string {
  return typeof value === "string" && value.length <= maxBytes && /^[\x21-\x7e]+$/.test(value);
}

function isStatus(value: Value): value is number | null {
  return value === null || (typeof value === "number" && value >= 100 && value <= MAX_STATUS);
}

function isLine(value: Value): value is string {
  return isTextUpTo(value, limits.snapshotTitleBytes) && !value.includes("\n");
}

function isTextUpTo(value: Value, maxBytes: number): value is string {
  return typeof value === "string" && value.length <= maxBytes && isNormalised(value) && utf8(value).length <= maxBytes;
}
