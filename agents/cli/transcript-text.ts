import type { Deliberation } from "../node/deliberation.ts";
import { rows } from "./output.ts";
import { factsOf, linesOf, titleOf } from "./transcript-lines.ts";

/** For a terminal: every text of strangers is quoted, and nothing in it steers the terminal. */
export function transcriptText(deliberation: Deliberation): string {
  const { messages } = deliberation;
  const blocks = messages.map((spoken, index) => {
    const parents = spoken.parents.length === 0 ? "" : `, held ${numbers(spoken.parents)}`;
    const lines = linesOf(deliberation, spoken).map(({ depth, text }) => `${"  ".repeat(depth + 2)}${text}`);
    return [`${titleOf(deliberation, index)}${parents}`, ...lines].join("\n");
  });
  const facts = rows(factsOf(deliberation).map(({ name, text }) => [name, text]));
  return [facts, ...blocks].join("\n\n");
}

/** "1-4, 7": of messages, counted from 1. */
export function numbers(indices: readonly number[]): string {
  const ranges: [from: number, to: number][] = [];
  for (const index of indices.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from + 1}` : `${from + 1}-${to + 1}`)).join(", ");
}
