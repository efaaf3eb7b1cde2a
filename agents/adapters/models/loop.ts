/** Longest piece of text that counts as a loop when it repeats. */
const MAX_PIECE = 100;
/** Times that it must stand there, and characters that all of them together must have. */
const ANSWER_LOOP = { times: 5, length: 60 } as const;

/** Returns whether a text ends in a short piece that it says again and again. */
export function isLoop(
  text: string,
  least: { readonly times: number; readonly length: number } = ANSWER_LOOP,
): boolean {
  for (let piece = 1; piece <= MAX_PIECE; piece++) {
    const length = Math.max(piece * least.times, least.length);
    if (length > text.length) return false;
    let at = text.length - 1;
    while (at - piece >= text.length - length && text[at] === text[at - piece]) at--;
    if (at - piece < text.length - length) return true;
  }
  return false;
}
