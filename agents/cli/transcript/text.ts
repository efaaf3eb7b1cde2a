import { styleText } from "node:util";
import type { Deliberation } from "../../node/audit/deliberation.ts";
import { grid, rows } from "../shared/output.ts";
import { factsOf, linesOf, numbers, recordOf, sharesOf, titleOf, type Fact } from "./lines.ts";
import { ANSWERS_HEAD, storyOf, type Equivocation } from "./story.ts";

/**
 * Writes the argument for a terminal: all texts of others are quoted and cannot steer it.
 * @param slashed what equivocations cost; empty where there are none
 * @param all every message with what it held, and the record that an auditor compares with the chain, too
 */
export function transcriptText(deliberation: Deliberation, slashed: readonly string[], all = false): string {
  const { answers, objections, changes, equivocations } = storyOf(deliberation);
  const shares = sharesOf(deliberation);
  const blocks = [
    factRows(factsOf(deliberation)),
    grid(ANSWERS_HEAD, answers),
    ...(objections.length === 0 ? [] : [objections.join("\n")]),
    ...(changes.length === 0 ? [] : [changes.join("\n")]),
    ...equivocations.map(sideBySide),
    ...(equivocations.length === 0 ? [] : [[EQUIVOCATION_MEANS, ...slashed].join("\n")]),
    ...(shares.length === 0 ? [] : [factRows(shares)]),
  ];
  if (!all) return [...blocks, `${deliberation.messages.length} messages: show them with --messages`].join("\n\n");
  return [...blocks, factRows(recordOf(deliberation)), ...messageTexts(deliberation)].join("\n\n");
}

function factRows(facts: readonly Fact[]): string {
  return rows(facts.map(({ name, text }) => [name, text]));
}

function sideBySide({ title, sides }: Equivocation): string {
  const head = styleText("red", `EQUIVOCATION: ${title}`);
  const titles = sides.map((side) => side.title);
  const differing = linesBeside(sides.map((side) => side.differing));
  const same = linesBeside(sides.map((side) => side.same));
  const between = differing.length > 0 && same.length > 0 ? [sides.map(() => "the same in all:")] : [];
  return `${head}\n${grid(titles, [...differing, ...between, ...same])}`;
}

/** Line n of each side in one row. */
function linesBeside(sides: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const most = Math.max(0, ...sides.map(({ length }) => length));
  return Array.from({ length: most }, (_, at) => sides.map((lines) => lines[at] ?? ""));
}

const EQUIVOCATION_MEANS =
  "Two signatures of one seat for one place prove it: agents keep them as evidence, and the slasher takes a part of the stake.";

function messageTexts(deliberation: Deliberation): readonly string[] {
  return deliberation.messages.map((spoken, index) => {
    const parents = spoken.parents.length === 0 ? "" : `, held ${numbers(spoken.parents)}`;
    const lines = linesOf(deliberation, spoken).map(({ depth, text }) => `${"  ".repeat(depth + 2)}${text}`);
    return [`${titleOf(deliberation, index)}${parents}`, ...lines].join("\n");
  });
}
