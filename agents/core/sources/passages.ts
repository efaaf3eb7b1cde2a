import { hexToBytes, sha256, utf8 } from "../encoding/bytes.ts";
import { limits } from "../limits.ts";

/**
 * SG6: the passages of a text, in order, as many as a message may name. A passage is a run of whole lines with at most
 * `limits.passageBytes`; from `LEAST_BYTES` on it ends after a line whose hash is a multiple of four. So texts that differ in one line
 * have the same passages but for that line's, wherever it stands.
 */
export function passagesOf(text: string): readonly string[] {
  const passages: string[] = [];
  let passage = "";
  let bytes = 0;
  const end = (): void => {
    if (passage !== "") passages.push(passage);
    [passage, bytes] = ["", 0];
  };
  for (const line of linesOf(text)) {
    const length = utf8(line).length;
    if (bytes + length > limits.passageBytes) end();
    if (passages.length === limits.passagesPerSource) return passages;
    passage += line;
    bytes += length;
    if (bytes >= LEAST_BYTES && isLast(line)) end();
  }
  end();
  return passages.slice(0, limits.passagesPerSource);
}

/** Shorter passages would make lists of passages long. */
const LEAST_BYTES = 256;

function isLast(line: string): boolean {
  return ((hexToBytes(sha256(utf8(line)))[0] as number) & 3) === 0;
}

/** The lines with their line ends; a line that is longer than a passage is cut after a space, or else between characters. */
function linesOf(text: string): readonly string[] {
  return text.split(/(?<=\n)/).flatMap((line) => (line.length * 3 <= limits.passageBytes ? line : piecesOf(line)));
}

function piecesOf(line: string): readonly string[] {
  const pieces: string[] = [];
  let piece = "";
  let bytes = 0;
  for (const word of line.split(/(?<= )/).flatMap(charactersIfLong)) {
    const length = utf8(word).length;
    if (bytes + length > limits.passageBytes) {
      pieces.push(piece);
      [piece, bytes] = ["", 0];
    }
    piece += word;
    bytes += length;
  }
  return [...pieces, piece];
}

function charactersIfLong(word: string): readonly string[] {
  return word.length * 3 <= limits.passageBytes ? [word] : Array.from(word);
}
