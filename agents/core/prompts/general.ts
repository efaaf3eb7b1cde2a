import { limits } from "../limits.ts";
import { renderedBytes, type OutputSchema } from "./prompt.ts";
import { KIND_RULES, letter, usesTerm } from "../request/kinds.ts";
import type { Terms } from "../types.ts";

/** What only the general set of prompts shows. */

/** A worked reply in the asked form; null if it would show neither an answer nor what was derived. */
export function exampleReply(terms: Terms, { properties }: OutputSchema): string | null {
  const { question, proof, answer } = KIND_RULES[terms.kind].example(terms);
  const values: Readonly<Record<string, string>> = { proof, check: proof, answer, derived: answer };
  const shown = properties.filter(({ name }) => name in values);
  if (!shown.some(({ name }) => name === "answer" || name === "derived")) return null;
  const reply = Object.fromEntries(shown.map(({ name }) => [name, values[name]]));
  return `to ${question} ${JSON.stringify(reply)}`;
}

/** The sign of an option: its letter after a line's begin, a space or a bracket, with a bracket, point or colon behind it. */
function signOf(index: number): RegExp {
  return new RegExp(String.raw`(?:^|[\s(])${letter(index)}[).:]\s`, "g");
}

/**
 * P11: the texts of the options, if the question lists every one of them in order, as `A) ...`, `(A) ...`, `A. ...` or `A: ...`; else
 * none. An option ends at its line's end or at the next one's sign.
 */
export function optionsIn(question: string, { kind, options }: Pick<Terms, "kind" | "options">): readonly string[] {
  if (!usesTerm(kind, "options")) return [];
  const places: { readonly from: number; readonly text: number }[] = [];
  let at = 0;
  for (let index = 0; index < options; index++) {
    const sign = signOf(index);
    sign.lastIndex = at;
    const found = sign.exec(question);
    if (found === null) return [];
    // The space behind a sign may be the one before the next sign.
    at = sign.lastIndex - 1;
    places.push({ from: found.index, text: at });
  }
  const texts = places.map(({ text }, index) => {
    const [line = ""] = question
      .slice(text, places[index + 1]?.from)
      .trimStart()
      .split("\n");
    return line
      .trimEnd()
      .replace(/[;,(]$/, "")
      .trimEnd();
  });
  const bytes = texts.reduce((sum, text) => sum + renderedBytes(text), 0);
  return texts.includes("") || bytes > limits.optionsBytes ? [] : texts;
}
