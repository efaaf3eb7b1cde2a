import type { OutputProperty, OutputSchema } from "../../ports/model.ts";
import { formRules } from "./forms.ts";

/**
 * Most repetitions in a rule, since llama.cpp refuses 2000; a longer text is bounded by the token limit and checked
 * afterwards.
 */
const MAX_REPETITION = 1000;

/** A piece of an answer. */
export type Part = OneOf | Text;

/** One of several texts, none of which is the beginning of another. */
export interface OneOf {
  readonly kind: "one-of";
  readonly texts: readonly string[];
  readonly property: string;
}

/** Text up to and with its closing quote: free text, or of a form. */
export interface Text {
  readonly kind: "free" | "form";
  /** The GBNF rule of the text without its quote. */
  readonly rule: string;
  readonly maxLength: number | undefined;
  readonly property: string;
}

/**
 * Returns the parts of exactly one compact JSON object with the properties in the given order and nothing after it.
 * node-llama-cpp's own JSON grammar allows spaces anywhere and requires four line ends, which a small model has not
 * learned and which blur probabilities.
 */
export function partsOf(schema: OutputSchema): readonly Part[] {
  const parts = schema.properties.flatMap((property, index): Part[] => {
    const { name, enum: allowed } = property;
    const begin = {
      kind: "one-of",
      texts: [`${index === 0 ? "{" : ","}${JSON.stringify(name)}:"`],
      property: name,
    } as const;
    if (allowed === undefined) return [begin, textOf(property)];
    return [begin, { kind: "one-of", texts: allowed.map((one) => JSON.stringify(one).slice(1)), property: name }];
  });
  return [...parts, { kind: "one-of", texts: ["}"], property: "" }];
}

function textOf({ name: property, form, words, maxLength }: OutputProperty): Text {
  if (form !== undefined) return { kind: "form", ...formRules(form, words), property };
  const most = maxLength === undefined || maxLength > MAX_REPETITION ? "*" : `{0,${maxLength}}`;
  return { kind: "free", rule: `character${most}`, maxLength, property };
}

/** Returns the GBNF grammar of an answer that consists of these parts. */
export function grammarOf(parts: readonly Part[]): string {
  const rules = parts.map((part) =>
    part.kind === "one-of" ? `(${part.texts.map(quoted).join(" | ")})` : String.raw`${part.rule} "\""`,
  );
  const character = String.raw`character ::= [^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt]`;
  return `root ::= ${rules.join(" ")}\n${character}\n`;
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
