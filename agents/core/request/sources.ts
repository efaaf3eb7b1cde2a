import { digestFromCid, digestOf, decode, encode, isMapOf } from "../encoding/codec.ts";
import { compareBytes, hexToBytes, utf8 } from "../encoding/bytes.ts";
import { limits } from "../limits.ts";
import { asDigest, listOf } from "../encoding/payload.ts";
import type { Form } from "../phases/round-book.ts";
import type { Attempt, Digest, Value } from "../types.ts";

/**
 * Documents that a question names, and citations of them (docs/spec/sources.md). A claim counts only if it cites a document byte for
 * byte.
 */

/** SG2: a shorter quotation could be found in any text. */
const LEAST_QUOTATION_BYTES = 8;

const LINE = /^source: (\S+)$/;
const ATTEMPTED = /^\s*source\s*:/i;
/** A CIDv1 (dag-cbor, sha2-256) in base32, in upper or lower case, anywhere in a text. */
const NAMED = /bafyrei[a-z2-7]{52}/i;
/** Decoders of UTF-8 remove it, so a text that begins with it would change when it is read back. */
const BYTE_ORDER_MARK = "\ufeff";

/** SG1: the documents that the lines at the question's end name, in their order. */
export function sourcesOf(question: string): readonly Digest[] {
  return readSources(question).digests;
}

/** The question without those lines. */
export function withoutSources(question: string): string {
  return readSources(question).rest;
}

/** SG1: why a question's sources cannot be used; null if they can be used, or if it names none. */
export function refuseSources(question: string): string | null {
  const { digests, rest } = readSources(question);
  if (ATTEMPTED.test(rest.split("\n").at(-1) ?? ""))
    return "the question's last lines name a source that is no CIDv1 (dag-cbor, sha2-256, base32) of the form `source: CID`, or have an empty line between them";
  if (NAMED.test(rest))
    return "the question names a document elsewhere than in its last lines; give each a line of its own at the end: `source: CID`";
  if (digests.length > limits.sources) return `a question may name ${limits.sources} sources, not ${digests.length}`;
  return new Set(digests).size === digests.length ? null : "the question names a source twice";
}

function readSources(question: string): { readonly digests: readonly Digest[]; readonly rest: string } {
  const lines = question.trimEnd().split("\n");
  const digests: Digest[] = [];
  for (let cid = sourceIn(lines.at(-1)); cid !== null; cid = sourceIn(lines.at(-1))) {
    digests.unshift(cid);
    lines.pop();
  }
  return digests.length === 0 ? { digests, rest: question } : { digests, rest: lines.join("\n").trimEnd() };
}

function sourceIn(line: string | undefined): Digest | null {
  const cid = line === undefined ? undefined : LINE.exec(line)?.[1];
  return cid === undefined ? null : digestFromCid(cid);
}

export interface Document {
  readonly digest: Digest;
  readonly text: string;
}

/** SG3: the block of a document: one string. Null if the text is too long or not well-formed, or begins with U+FEFF. */
export function documentBlock(text: string): Uint8Array | null {
  return isDocument(text) ? encode(text) : null;
}

/** SG3: the document in a block; null if the block is not that document. */
export function readDocument(digest: Digest, block: Uint8Array): Document | null {
  const text = decode(block, limits.sourceBytes + BLOCK_HEAD_BYTES);
  return typeof text === "string" && isDocument(text) && digestOf(text) === digest ? { digest, text } : null;
}

/** Number of bytes that dag-cbor puts before a string of that length. */
const BLOCK_HEAD_BYTES = 3;

function isDocument(text: string): boolean {
  if (text.length > limits.sourceBytes || text.startsWith(BYTE_ORDER_MARK)) return false;
  return text.isWellFormed() && utf8(text).length <= limits.sourceBytes;
}

/** SG4: the place of a quotation: bytes [start, end) of the document's UTF-8. */
export interface Citation {
  readonly document: Digest;
  readonly start: number;
  readonly end: number;
  readonly quotation: string;
}

/** SG2, SG4: true if the quotation stands byte for byte in that range and is long enough. */
export function isExact(documents: readonly Document[], { document, start, end, quotation }: Citation): boolean {
  const text = documents.find(({ digest }) => digest === document)?.text;
  if (text === undefined) return false;
  const [bytes, cited] = [utf8(text), utf8(quotation)];
  const isLong = cited.length >= Math.min(LEAST_QUOTATION_BYTES, bytes.length) && cited.length > 0;
  return isLong && end - start === cited.length && compareBytes(bytes.slice(start, end), cited) === 0;
}

/**
 * Cites a quotation at the first place where it stands in the document: models quote, but cannot count bytes. If it is too long (SG2),
 * only its beginning is cited. Null if the quotation begins with U+FEFF: it would change when it is read back (SG3).
 */
export function cite({ digest, text }: Document, passage: string): Citation | null {
  const at = passage === "" || passage.startsWith(BYTE_ORDER_MARK) ? -1 : text.indexOf(passage);
  if (at < 0) return null;
  const quotation = beginningOf(passage, limits.quotationBytes);
  const start = utf8(text.slice(0, at)).length;
  const citation = { document: digest, start, end: start + utf8(quotation).length, quotation };
  return isExact([{ digest, text }], citation) ? citation : null;
}

/** The longest prefix of whole characters that fits. Nothing in it changes, so that it still stands in the document. */
function beginningOf(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += utf8(character).length;
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** The documents a seat brings, in the order in which the question names them; null for a document it could not get. */
export interface Sources {
  readonly documents: readonly (string | null)[];
}

export const SOURCE = 10;

/** SG5: documents are addressed by content, so a bringer can only fail to bring one: another text makes the message malformed. */
export const sourceForm: Form<Sources> = {
  name: "source",
  phase: SOURCE,
  encode: ({ documents }) => ({ documents }),
  decode: (attempt, value) => {
    const names = sourcesOf(attempt.request.question);
    if (!isMapOf(value, ["documents"]) || !Array.isArray(value["documents"])) return null;
    const documents = value["documents"] as readonly Value[];
    const isNamed = (text: Value, index: number): boolean =>
      text === null || (typeof text === "string" && isDocument(text) && digestOf(text) === names[index]);
    return documents.length === names.length && documents.every(isNamed)
      ? { documents: documents as Sources["documents"] }
      : null;
  },
};

export interface Citations {
  readonly citations: readonly Citation[];
}

/** The phase of citations: after REVEAL and MATCH, before VOTE. */
export const CITE = 5;

export const citeForm: Form<Citations> = {
  name: "cite",
  phase: CITE,
  encode: ({ citations }) => ({
    citations: citations.map(({ document, start, end, quotation }) => [hexToBytes(document), start, end, quotation]),
  }),
  decode: (_, value) => {
    const citations = isMapOf(value, ["citations"]) ? listOf(value["citations"], limits.sources, decodeCitation) : null;
    return citations === null ? null : { citations };
  },
};

function decodeCitation(entry: Value): Citation | null {
  if (!Array.isArray(entry) || entry.length !== 4) return null;
  const [name, start, end, quotation] = entry as readonly Value[];
  const document = asDigest(name);
  if (document === null || typeof quotation !== "string" || quotation.length > limits.quotationBytes) return null;
  if (typeof start !== "number" || typeof end !== "number" || start < 0 || end < start || end > limits.sourceBytes)
    return null;
  return utf8(quotation).length <= limits.quotationBytes ? { document, start, end, quotation } : null;
}

const groundedAttempts = new WeakMap<Attempt, Attempt>();

/** The attempt with the question as models see it: without the lines that name documents, which are shown in full beside it. */
export function grounded(attempt: Attempt): Attempt {
  const known = groundedAttempts.get(attempt);
  if (known !== undefined) return known;
  const { request } = attempt;
  const made = { ...attempt, request: { ...request, question: withoutSources(request.question) } };
  groundedAttempts.set(attempt, made);
  return made;
}
