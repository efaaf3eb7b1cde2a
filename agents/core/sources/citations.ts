import { isMapOf } from "../encoding/codec.ts";
import { utf8 } from "../encoding/bytes.ts";
import { limits } from "../limits.ts";
import type { PayloadMap } from "../protocol.ts";
import type { ReadText } from "./reading.ts";
import type { Value } from "../types.ts";

/** SG4: words of a source that an answer rests on, and the passage in which they stand. */
export interface Citation {
  /** The source's place in the question, 0 = the first. */
  readonly source: number;
  readonly passage: string;
  readonly quotation: string;
}

/** SG4: a shorter quotation could be found in any text. */
const LEAST_QUOTATION_BYTES = 8;

/** SG4: true if the quotation stands in the passage and is long enough, or the whole of it. */
function isQuoted({ passage, quotation }: Citation): boolean {
  if (quotation === "" || !passage.includes(quotation)) return false;
  return utf8(quotation).length >= LEAST_QUOTATION_BYTES || quotation === passage.trimEnd();
}

/**
 * Cites words at the first place where they stand in a text, a line break for a space or not: models quote, but cannot name places. If
 * the words run over several passages, it cites what stands in the first that holds enough of them; if they are longer than a quotation,
 * their beginning. Null if they stand nowhere.
 */
export function cite(source: number, { text, passages }: ReadText, words: string): Citation | null {
  const at = words === "" ? -1 : inOneLine(text).indexOf(inOneLine(words));
  if (at < 0) return null;
  const until = at + words.length;
  let start = 0;
  for (const passage of passages) {
    if (start >= until) return null;
    const inside = passage.slice(Math.max(0, at - start), Math.max(0, until - start));
    const quotation = beginningOf(inside, limits.quotationBytes).trimEnd();
    const citation = decodeCitation(encodeCitation({ source, passage, quotation }));
    if (citation !== null) return citation;
    start += passage.length;
  }
  return null;
}

/** The text with spaces for its line breaks. Each character keeps its place. */
function inOneLine(text: string): string {
  return text.replaceAll("\n", " ");
}

/** The longest prefix of whole characters that fits. Nothing in it changes, so that it still stands in the text. */
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

export function encodeCitation({ source, passage, quotation }: Citation): PayloadMap {
  return { source, passage, quotation };
}

/** Decodes strictly: null for anything that `encodeCitation` does not make of a citation that is quoted. */
export function decodeCitation(value: Value): Citation | null {
  if (!isMapOf(value, ["passage", "quotation", "source"])) return null;
  const { passage, quotation, source } = value;
  if (typeof source !== "number" || !Number.isSafeInteger(source) || source < 0 || source >= limits.sources)
    return null;
  if (!isCited(passage, limits.passageBytes) || !isCited(quotation, limits.quotationBytes)) return null;
  const citation = { source, passage, quotation };
  return isQuoted(citation) ? citation : null;
}

/** Text as it stands in a source: well-formed, and without a byte order mark at its start, which decoders take away. */
function isCited(value: Value | undefined, maxBytes: number): value is string {
  if (typeof value !== "string" || value.length > maxBytes || value.startsWith("\ufeff")) return false;
  return value.isWellFormed() && utf8(value).length <= maxBytes;
}
