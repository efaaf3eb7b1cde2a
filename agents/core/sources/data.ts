import { limits } from "../limits.ts";
import { canonicalAnswer } from "../request/answer.ts";
import type { Asked, CanonicalAnswer } from "../request/kinds.ts";
import { readNumber } from "../request/number.ts";

/** A number with an exponent, such as 1.5e3: JSON allows it, and people do not write it. */
const SCIENTIFIC = /^([+-]?)([0-9]+)(?:\.([0-9]+))?e([+-]?[0-9]{1,3})$/i;

/** A source may write more decimals than the terms have, since they are cut off: so `1,234` may mean a fraction whatever the terms are. */
const ANY_DECIMALS = Number.MAX_SAFE_INTEGER;

/**
 * SG12: the number in what stands at the source of a data question, in digits alone, never by floating point. Digits beyond the decimals
 * of the terms are cut off. Null if the text is no number (EQ5), or one that the terms have no room for.
 */
export function dataNumber({ terms, question }: Asked, text: string): CanonicalAnswer | null {
  if (text.length > limits.shortAnswerBytes) return null;
  const read = readNumber(withoutExponent(text), ANY_DECIMALS, question);
  if (read === null) return null;
  const fraction = read.fraction.slice(0, terms.decimals);
  const written = `${read.isNegative ? "-" : ""}${read.whole}${fraction === "" ? "" : `.${fraction}`}`;
  return canonicalAnswer({ terms, question }, written);
}

/** `1.5e3` as `1500`; any other text as it is. */
function withoutExponent(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent] = SCIENTIFIC.exec(text) ?? [];
  if (exponent === undefined) return text;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return point >= digits.length
    ? sign + digits.padEnd(point, "0")
    : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}
