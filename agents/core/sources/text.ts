import { utf8 } from "../encoding/bytes.ts";

/**
 * EV9: the one normalisation of the text of snapshots. All lists are fixed; only the normal form C, and what is a mark, depend on the
 * engine's Unicode tables, so that it runs where a text enters and never in a replay.
 */

const LINE_BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/gu;
const SPACE = /[\t \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+/gu;
/** Controls and what has no shape of its own: soft hyphens, joiners, directions, fillers, variation selectors, marks of byte order, tags. */
const INVISIBLE =
  // eslint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
/** What normalised text does not have beside invisible characters. */
const LOOSE =
  /[\t\v\f\r\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]| {2}| \n|\n |\n\n|^[ \n]|[ \n]$/u;

/**
 * More marks on one character than any script has. Engines sort marks in time that grows with the square of their number, in one step
 * that nothing ends: some megabytes of them would stop a thread for an hour.
 */
export const TOO_MANY_MARKS = /(\p{M}{30})\p{M}+/gu;

/**
 * Visible characters in form C, with 30 marks on one at most; a run of white space is one line break if it has any, else one space; nothing
 * at the ends.
 */
export function normaliseText(text: string): string {
  return (
    seenText(text)
      .replaceAll(TOO_MANY_MARKS, "$1")
      .normalize("NFC")
      // In form C one mark can be two.
      .replaceAll(TOO_MANY_MARKS, "$1")
  );
}

/** The part of `normaliseText` that depends on no engine's tables: visible characters, and white space as it says. */
export function seenText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(LINE_BREAK, "\n")
    .replaceAll(INVISIBLE, "")
    .replaceAll(SPACE, " ")
    .replaceAll(/ ?\n[ \n]*/g, "\n")
    .replaceAll(/^[ \n]+|[ \n]+$/g, "");
}

/** Whether a text is as `normaliseText` leaves it, its normal form aside. */
export function isNormalised(text: string): boolean {
  return text.isWellFormed() && text.search(INVISIBLE) < 0 && !LOOSE.test(text);
}

/** The longest prefix of a normalised text that has so many bytes and is normalised. */
export function truncateText(text: string, maxBytes: number): { readonly text: string; readonly isCut: boolean } {
  const bytes = utf8(text);
  if (bytes.length <= maxBytes) return { text, isCut: false };
  let end = maxBytes;
  while (isContinuation(bytes[end])) end -= 1;
  let units = 0;
  for (let at = 0; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (!isContinuation(byte)) units += byte >= FOUR_BYTES ? 2 : 1;
  }
  return { text: text.slice(0, units).replace(/[ \n]+$/, ""), isCut: true };
}

/** The first byte of four, which are two units of UTF-16. */
const FOUR_BYTES = 0xf0;

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
