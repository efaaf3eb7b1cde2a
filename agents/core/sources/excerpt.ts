import MiniSearch from "minisearch";
import { utf8 } from "../encoding/bytes.ts";
import type { ReadText } from "./reading.ts";
import { truncateText } from "./text.ts";

/** Stands where passages are left out. */
const GAP = "[...]\n";

/**
 * SG7: what of a text a model is shown in so many bytes: all of it, or the passages that rank highest for a question, in their order;
 * where not even the first fits, its line that ranks highest, or the beginning of that. Local: nobody else has to choose the same.
 */
export function excerptsOf(
  { text, passages }: Pick<ReadText, "text" | "passages">,
  question: string,
): (maxBytes: number) => string {
  const { length } = utf8(text);
  let ranked: readonly number[] | null = null;
  return (maxBytes) => {
    if (length <= maxBytes) return text;
    ranked ??= rankedFor(question, passages);
    const chosen = new Set<number>();
    let bytes = 0;
    for (const id of ranked) {
      // Each passage may stand alone between two gaps.
      bytes += utf8(passages[id] as string).length + GAP.length;
      if (bytes + GAP.length > maxBytes) break;
      chosen.add(id);
    }
    if (chosen.size === 0) {
      const line = lineOf(passages[ranked[0] ?? 0] ?? "", question, maxBytes - 2 * GAP.length - 1);
      return line === "" ? GAP : joined(GAP + line, null);
    }
    return passages.map((passage, id) => (chosen.has(id) ? passage : null)).reduce<string>(joined, "");
  };
}

/** The line that ranks highest, to the last word that has room: half a number would be another one. */
function lineOf(passage: string, question: string, maxBytes: number): string {
  const lines = passage.split("\n").filter((line) => line !== "");
  const best = lines[rankedFor(question, lines)[0] ?? 0] ?? "";
  const { text, isCut } = truncateText(best, maxBytes);
  return isCut ? text.replace(/\S*$/u, "").trimEnd() : text;
}

/** The places of all passages, that of the likeliest one first. */
function rankedFor(question: string, passages: readonly string[]): readonly number[] {
  const index = new MiniSearch({ fields: ["passage"] });
  index.addAll(passages.map((passage, id) => ({ id, passage })));
  const found = index.search(wordsOf(question)).map(({ id }) => id as number);
  return [...new Set([...found, ...passages.keys()])];
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
