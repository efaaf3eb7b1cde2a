import type { OutputSchema } from "../../ports/model.ts";

/** llama.cpp refuses repetitions from 2000 rules on; a longer text is bounded by the token limit and checked afterwards. */
const MAX_REPETITION = 1000;

/**
 * A GBNF grammar of exactly one compact JSON object with the properties in the given order and nothing after it: node-llama-cpp's own
 * JSON grammar allows spaces anywhere and wants four line ends, which a small model has not learned and which blur probabilities.
 */
export function grammarOf(schema: OutputSchema): string {
  const fields = schema.properties.map(({ name, enum: allowed, maxLength }, index) => {
    const key = quoted(`${index === 0 ? "{" : ","}${JSON.stringify(name)}:`);
    const value =
      allowed === undefined
        ? freeText(maxLength)
        : `(${allowed.map((one) => quoted(JSON.stringify(one))).join(" | ")})`;
    return `${key} ${value}`;
  });
  const character = String.raw`character ::= [^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt]`;
  return `root ::= ${fields.join(" ")} "}"\n${character}\n`;
}

function freeText(maxLength = Infinity): string {
  const most = maxLength > MAX_REPETITION ? "*" : `{0,${maxLength}}`;
  return String.raw`"\"" character${most} "\""`;
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
