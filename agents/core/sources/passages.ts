import { limits } from "../limits.ts";

/** SG6: how many passages of each source count. */
export function passagesOfEach(sources: number): number {
  return Math.floor(limits.passages / sources);
}

/**
 * SG6: the first passages of a text, in order. A passage is a run of whole pieces with at most
 * `limits.passageBytes`; from `LEAST_BYTES` on it ends after a piece that `isLast` chooses by its words alone, or of a long word by a few
 * characters. So texts that differ in one piece have the same passages but for those around it, wherever it stands.
 */
export function passagesOf(text: string, most: number = limits.passages): readonly string[] {
  const passages: string[] = [];
  let passage = "";
  let bytes = 0;
  const end = (): void => {
    if (passage !== "") passages.push(passage);
    [passage, bytes] = ["", 0];
  };
  for (const { piece, context } of piecesOf(text)) {
    const length = bytesIn(piece);
    if (bytes + length > limits.passageBytes) end();
    if (passages.length === most) return passages;
    passage += piece;
    bytes += length;
    if (bytes >= LEAST_BYTES && isLast(context, length)) end();
  }
  end();
  return passages.slice(0, most);
}

/**
 * SG6: the first passages of what a search brought: its lines, of which long ones are cut. So tools that bring the same line name the same
 * passage, whatever stands around it.
 */
export function linesOf(text: string, most: number): readonly string[] {
  return text
    .split(/(?<=\n)/)
    .flatMap((line) => passagesOf(line, most))
    .slice(0, most);
}

/** Shorter passages would make lists of passages long. */
const LEAST_BYTES = 256;

/** A piece ends a passage the likelier, the longer it is: so passages of short and of long pieces have the same length on average. */
function isLast(context: string, bytes: number): boolean {
  return fnv1a(context) >>> 24 < bytes;
}

/**
 * FNV-1a of 32 bits (draft-eastlake-fnv) over the code points. Whoever writes a text can choose its ends whatever the hash; a slow one
 * would let a long text stop an agent for seconds.
 */
function fnv1a(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) as number), 0x01_00_01_93);
  return hash;
}

interface Piece {
  readonly piece: string;
  /** What decides whether the piece is the last of its passage. */
  readonly context: string;
}

/** The lines with their line ends; of a line that is longer than a passage the words, and of such a word the characters. */
function piecesOf(text: string): readonly Piece[] {
  return text
    .split(/(?<=\n)/)
    .flatMap((line) => (fits(line) ? whole(line) : line.split(/(?<=[ ,])/).flatMap(charactersIfLong)));
}

function charactersIfLong(word: string): readonly Piece[] {
  if (fits(word)) return [whole(word)];
  const characters = Array.from(word);
  return characters.map((piece, at) => ({
    piece,
    context: characters.slice(Math.max(0, at + 1 - CONTEXT_CHARACTERS), at + 1).join(""),
  }));
}

function whole(text: string): Piece {
  return { piece: text, context: text };
}

/** One character alone would decide alike wherever it stands: a text of digits would end a passage at each 7, or nowhere. */
const CONTEXT_CHARACTERS = 16;

function fits(text: string): boolean {
  return text.length <= limits.passageBytes && bytesIn(text) <= limits.passageBytes;
}

/** Bytes of UTF-8, without making them. */
function bytesIn(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) as number;
    bytes += code < 0x80 ? 1 : code < 0x8_00 ? 2 : code < 0x1_00_00 ? 3 : 4;
  }
  return bytes;
}
