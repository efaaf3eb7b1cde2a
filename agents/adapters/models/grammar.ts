import type { OutputSchema } from "../../ports/model.ts";

/**
 * Most repetitions in a rule, since llama.cpp refuses 2000; a longer text is bounded by the token limit and checked
 * afterwards.
 */
const MAX_REPETITION = 1000;

/**
 * A piece of an answer: one of several texts, none of which is the beginning of another, or free text up to and with
 * its closing quote.
 */
export type Part =
  | { readonly kind: "one-of"; readonly texts: readonly string[]; readonly property: string }
  | { readonly kind: "free"; readonly maxLength: number | undefined; readonly property: string };

/**
 * Returns the parts of exactly one compact JSON object with the properties in the given order and nothing after it.
 * node-llama-cpp's own JSON grammar allows spaces anywhere and requires four line ends, which a small model has not
 * learned and which blur probabilities.
 */
export function partsOf(schema: OutputSchema): readonly Part[] {
  const parts = schema.properties.flatMap(({ name: property, enum: allowed, maxLength }, index): Part[] => [
    { kind: "one-of", texts: [`${index === 0 ? "{" : ","}${JSON.stringify(property)}:"`], property },
    allowed === undefined
      ? { kind: "free", maxLength, property }
      : { kind: "one-of", texts: allowed.map((one) => JSON.stringify(one).slice(1)), property },
  ]);
  return [...parts, { kind: "one-of", texts: ["}"], property: "" }];
}

/** Returns the GBNF grammar of an answer. */
export function grammarOf(schema: OutputSchema): string {
  return grammarOfParts(partsOf(schema));
}

export function grammarOfParts(parts: readonly Part[]): string {
  const rules = parts.map((part) =>
    part.kind === "free" ? freeText(part.maxLength) : `(${part.texts.map(quoted).join(" | ")})`,
  );
  const character = String.raw`character ::= [^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt]`;
  return `root ::= ${rules.join(" ")}\n${character}\n`;
}

function freeText(maxLength: number | undefined): string {
  const most = maxLength === undefined || maxLength > MAX_REPETITION ? "*" : `{0,${maxLength}}`;
  return String.raw`character${most} "\""`;
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
