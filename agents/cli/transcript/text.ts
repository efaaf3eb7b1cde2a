import type { Deliberation } from "../../node/audit/deliberation.ts";
import { rows } from "../shared/output.ts";
import { factsOf, linesOf, numbers, titleOf } from "./lines.ts";

/** Writes the deliberation for a terminal: all texts of others are quoted and cannot steer the terminal. */
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
