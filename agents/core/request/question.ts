import { utf8ToBytes } from "@noble/hashes/utils.js";
import { ConclaveError } from "../errors.ts";
import { limits } from "../limits.ts";
import { normaliseText } from "../sources/text.ts";

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

/** Throws TERMS_INVALID or QUESTION_TOO_LONG for what nobody should pay for: a chain takes any bytes. */
export function requireQuestion(question: string): void {
  // Nor does it ask anything if nothing of it is seen.
  if (normaliseText(question) === "") throw invalid("it is empty; give a text");
  if (!isText(question)) throw invalid("it is not well-formed Unicode; give a text without lone surrogates");
  const bytes = utf8ToBytes(question).length;
  if (bytes <= limits.questionBytes) return;
  const way = `it has ${bytes} bytes, at most ${limits.questionBytes} are taken; shorten it`;
  throw new ConclaveError("QUESTION_TOO_LONG", `Ask the question: ${way}`, {
    field: "question",
    way,
    bytes,
    maxBytes: limits.questionBytes,
  });
}

function invalid(way: string): ConclaveError {
  return new ConclaveError("TERMS_INVALID", `Ask the question: question: ${way}`, {
    field: "question",
    value: "",
    way,
  });
}
