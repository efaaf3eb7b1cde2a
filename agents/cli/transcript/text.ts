import { styleText } from "node:util";
import type { Deliberation } from "../../node/audit/deliberation.ts";
import { grid, rows } from "../shared/output.ts";
import { factsOf, linesOf, numbers, recordOf, titleOf } from "./lines.ts";
import { ANSWERS_HEAD, storyOf, type Equivocation } from "./story.ts";

/**
 * Writes the argument for a terminal: all texts of others are quoted and cannot steer it.
 * @param all every message with what it held, and the record that an auditor compares with the chain, too
 */
export function transcriptText(deliberation: Deliberation, all = false): string {
  const { answers, objections, changes, equivocations } = storyOf(deliberation);
  const blocks = [
    rows(factsOf(deliberation).map(({ name, text }) => [name, text])),
    grid(ANSWERS_HEAD, answers),
    ...(objections.length === 0 ? [] : [objections.join("\n")]),
    ...(changes.length === 0 ? [] : [changes.join("\n")]),
    ...equivocations.map(sideBySide),
  ];
  if (!all) return [...blocks, `${deliberation.messages.length} messages: show them with --messages`].join("\n\n");
  const record = rows(recordOf(deliberation).map(({ name, text }) => [name, text]));
  return [...blocks, record, ...messageTexts(deliberation)].join("\n\n");
}

function sideBySide({ title, sides }: Equivocation): string {
  const head = styleText("red", `EQUIVOCATION: ${title}`);
  const titles = sides.map((side) => side.title);
  const differing = linesBeside(sides.map((side) => side.differing));
  const same = linesBeside(sides.map((side) => side.same));
  const between = differing.length > 0 && same.length > 0 ? [sides.map(() => "the same in all:")] : [];
  return `${head}\n${grid(titles, [...differing, ...between, ...same])}\n${EQUIVOCATION_MEANS}`;
}

/** Line n of each side in one row. */
function linesBeside(sides: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const most = Math.max(0, ...sides.map(({ length }) => length));
  return Array.from({ length: most }, (_, at) => sides.map((lines) => lines[at] ?? ""));
}

const EQUIVOCATION_MEANS =
  "Two signatures of one seat for one place prove it: agents keep them as evidence, and anybody can have the stake slashed (conclave evidence).";

function messageTexts(deliberation: Deliberation): readonly string[] {
  return deliberation.messages.map((spoken, index) => {
    const parents = spoken.parents.length === 0 ? "" : `, held ${numbers(spoken.parents)}`;
    const lines = linesOf(deliberation, spoken).map(({ depth, text }) => `${"  ".repeat(depth + 2)}${text}`);
    return [`${titleOf(deliberation, index)}${parents}`, ...lines].join("\n");
  });
}
