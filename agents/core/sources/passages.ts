import { hexToBytes, sha256, utf8 } from "../encoding/bytes.ts";
import { limits } from "../limits.ts";

/**
 * SG6: the passages of a text, in order, as many as a message may name. A passage is a run of whole pieces with at most
 * `limits.passageBytes`; from `LEAST_BYTES` on it ends after a piece that `isLast` chooses by its words alone. So texts that differ in one
 * piece have the same passages but for those around it, wherever it stands.
 */
export function passagesOf(text: string): readonly string[] {
  const passages: string[] = [];
  let passage = "";
  let bytes = 0;
  const end = (): void => {
    if (passage !== "") passages.push(passage);
    [passage, bytes] = ["", 0];
  };
  for (const piece of piecesOf(text)) {
    const length = utf8(piece).length;
    if (bytes + length > limits.passageBytes) end();
    if (passages.length === limits.passagesPerSource) return passages;
    passage += piece;
    bytes += length;
    if (bytes >= LEAST_BYTES && isLast(piece, length)) end();
  }
  end();
  return passages.slice(0, limits.passagesPerSource);
}

/**
 * SG6: the passages of what a search brought: its lines, of which long ones are cut. So tools that bring the same line name the same
 * passage, whatever stands around it.
 */
export function linesOf(text: string): readonly string[] {
  return text
    .split(/(?<=\n)/)
    .flatMap(passagesOf)
    .slice(0, limits.passagesPerSource);
}

/** Shorter passages would make lists of passages long. */
const LEAST_BYTES = 256;

/** A piece ends a passage the likelier, the longer it is: so passages of short and of long pieces have the same length on average. */
function isLast(piece: string, bytes: number): boolean {
  return (hexToBytes(sha256(utf8(piece)))[0] as number) < bytes;
}

/** The lines with their line ends; of a line that is longer than a passage the words, and of such a word the characters. */
function piecesOf(text: string): readonly string[] {
  return text
    .split(/(?<=\n)/)
    .flatMap((line) => (fits(line) ? line : line.split(/(?<=[ ,])/).flatMap(charactersIfLong)));
}

function charactersIfLong(word: string): readonly string[] {
  return fits(word) ? [word] : Array.from(word);
}

function fits(text: string): boolean {
  return text.length <= limits.passageBytes && utf8(text).length <= limits.passageBytes;
}
