import { utf8 } from "../encoding/bytes.ts";

/** Controls (C0, DEL, C1), line separators and bidirectional overrides: they make two answers look alike. A fixed list, no Unicode tables. */
// eslint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/;

/**
 * Brings what a model wrote into the form its author signs: well-formed UTF-16 in normal form C. It runs only where
 * an answer enters, never in a replay, because Unicode tables differ between engine versions; in the core, texts
 * are equal iff they are equal byte for byte after `canonicalAnswer`.
 */
export function composeText(text: string): string {
  return text.toWellFormed().normalize("NFC");
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
