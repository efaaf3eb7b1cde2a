import type { TextForm } from "../../ports/model.ts";

/** Most digits of a number, in units of its last decimal: 10^38 is the largest power of ten below the bound of 2^127. */
const DIGITS = 38;

/** A form as a GBNF rule, as a regular expression for a JSON schema, in words, and with the most characters it has. */
export interface FormRules {
  readonly rule: string;
  readonly pattern: string;
  readonly words: string;
  readonly maxLength: number;
}

/** @param words whole texts that may stand in place of one of the form: plain letters and spaces */
export function formRules(form: TextForm, words: readonly string[] = []): FormRules {
  const rules = form.kind === "number" ? numberRules(form.decimals) : letterRules(form.options);
  if (words.length === 0) return rules;
  return {
    rule: `(${[rules.rule, ...words.map((word) => `"${word}"`)].join(" | ")})`,
    pattern: `^(${[rules.pattern.slice(1, -1), ...words].join("|")})$`,
    words: [rules.words, ...words].join(", or "),
    maxLength: Math.max(rules.maxLength, ...words.map(({ length }) => length)),
  };
}

/** Zeros at the end are allowed: otherwise a model that means 4.00 and has written `4.` would have to write a greater number. */
function numberRules(decimals: number): FormRules {
  const whole = DIGITS - decimals;
  const fraction = decimals === 0 ? "" : ` ("." [0-9]{1,${decimals}})?`;
  const fractionPattern = decimals === 0 ? "" : String.raw`(\.[0-9]{1,${decimals}})?`;
  return {
    rule: `"-"? ("0" | [1-9] [0-9]{0,${whole - 1}})${fraction}`,
    pattern: `^-?(0|[1-9][0-9]{0,${whole - 1}})${fractionPattern}$`,
    words: decimals === 0 ? "a whole number in digits" : `a number in digits, with at most ${decimals} decimals`,
    maxLength: 1 + whole + (decimals === 0 ? 0 : 1 + decimals),
  };
}

/** One alternative for each first letter, so that no text is empty and no comma stands alone. */
function letterRules(options: number): FormRules {
  const letters = Array.from({ length: options }, (_, index) => String.fromCharCode(65 + index));
  const alternatives = (first: (letter: string) => string, later: (letter: string) => string): string =>
    letters.map((letter, index) => [first(letter), ...letters.slice(index + 1).map(later)].join("")).join("|");
  return {
    rule: `(${alternatives(
      (letter) => `"${letter}"`,
      (letter) => ` (",${letter}")?`,
    )})`,
    pattern: `^(${alternatives(
      (letter) => letter,
      (letter) => `(,${letter})?`,
    )})$`,
    words: `one or more of the letters A to ${letters.at(-1)}, ascending, joined by commas`,
    maxLength: 2 * options - 1,
  };
}
