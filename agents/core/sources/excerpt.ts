import MiniSearch from "minisearch";
import { utf8 } from "../encoding/bytes.ts";
import type { ReadText } from "./reading.ts";

/** Stands where passages are left out. */
const GAP = "[...]\n";

/**
 * SG7: what of a text a model is shown: all of it, or the passages that rank highest for a question, in their order. Local: nobody
 * else has to choose the same.
 */
export function excerptOf({ text, passages }: ReadText, question: string, maxBytes: number): string {
  if (utf8(text).length <= maxBytes) return text;
  const index = new MiniSearch({ fields: ["passage"] });
  index.addAll(passages.map((passage, id) => ({ id, passage })));
  const found = index.search(wordsOf(question)).map(({ id }) => id as number);
  const ranked = [...new Set([...found, ...passages.keys()])];
  const chosen = new Set<number>();
  let bytes = 0;
  for (const id of ranked) {
    // Each passage may stand alone between two gaps.
    bytes += utf8(passages[id] as string).length + GAP.length;
    if (bytes + GAP.length > maxBytes) break;
    chosen.add(id);
  }
  return passages.map((passage, id) => (chosen.has(id) ? passage : null)).reduce<string>(joined, "");
}

/** A question's words, each once and not too many: each takes a table of all passages while it is looked for. */
function wordsOf(question: string): string {
  const words = question.toLowerCase().split(SPACE_OR_PUNCTUATION);
  return [...new Set(words)].slice(0, MOST_WORDS).join(" ");
}

const SPACE_OR_PUNCTUATION = /[\s\p{P}]+/u;
const MOST_WORDS = 512;

function joined(shown: string, passage: string | null): string {
  if (passage !== null) return shown + passage;
  if (shown.endsWith(GAP)) return shown;
  return shown === "" || shown.endsWith("\n") ? shown + GAP : `${shown}\n${GAP}`;
}
