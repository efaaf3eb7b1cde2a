import { utf8ToBytes } from "@noble/hashes/utils.js";

/**
 * CE19: a consumer can ask any bytes, and the hash of the request covers them. If they are not UTF-8, each byte becomes a lone
 * surrogate, U+DC00 and up, so that no byte is lost and no two questions share a text.
 */
const LONE = 0xdc00;

/** The text of a question whose bytes are not UTF-8. */
export function rawText(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(LONE + byte)).join("");
}

/** True if the question's bytes are UTF-8. */
export function isText(question: string): boolean {
  return question.isWellFormed();
}

/** The bytes that were asked. Throws a RangeError for a text that no bytes yield. */
export function questionBytes(question: string): Uint8Array {
  if (isText(question)) return utf8ToBytes(question);
  return Uint8Array.from({ length: question.length }, (_, index) => {
    const byte = question.charCodeAt(index) - LONE;
    if (byte < 0 || byte > 255) throw new RangeError("questionBytes: the text has a lone surrogate");
    return byte;
  });
}
