import { utf8 } from "../encoding/bytes.ts";

/** Controls (C0, DEL, C1), line separators and bidirectional overrides: they make two answers look alike. A fixed list, no Unicode tables. */
// eslint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/;

/** What shows nothing and joins nothing: soft hyphens, spaces of no width, word joiners, directions, marks of byte order. */
const UNSHOWN = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;

/**
 * Brings what a model wrote into the form its author signs: well-formed UTF-16 in normal form C, without what shows nothing, so that
 * texts that look alike are alike. It runs only where an answer enters, never in a replay, because Unicode tables differ between engine
 * versions; in the core, texts are equal iff they are equal byte for byte after `canonicalAnswer`.
 */
export function composeText(text: string): string {
  return text.toWellFormed().replaceAll(UNSHOWN, "").normalize("NFC");
}

/** Whether a text shows what it is: no controls, line separators or bidirectional overrides. */
export function isReadable(text: string): boolean {
  return text.isWellFormed() && !FORBIDDEN.test(text);
}

/** The longest readable prefix of whole characters that fits; what is not readable becomes a space. */
export function clipText(text: string, maxBytes: number): string {
  let clipped = "";
  let bytes = 0;
  for (const character of text.toWellFormed()) {
    const readable = FORBIDDEN.test(character) ? " " : character;
    bytes += utf8(readable).length;
    if (bytes > maxBytes) break;
    clipped += readable;
  }
  return clipped;
}
