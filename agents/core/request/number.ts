/** EQ5 (docs/spec/answers.md): reads a number as people and models write it. */

export interface WrittenNumber {
  readonly isNegative: boolean;
  /** Digits before and after the point. */
  readonly whole: string;
  readonly fraction: string;
}

/**
 * A sign, a money sign, digits or groups of digits, a point with digits, a unit, a full stop. Every step consumes a character of its own,
 * so matching is linear.
 */
const NUMBER =
  /^(?<sign>[+-]?)(?<money>[$€£¥]?) ?(?<digits>[0-9]+(?:[, \u00a0\u2009\u202f][0-9]+)*)(?:\.(?<fraction>[0-9]+))?(?: ?(?<unit>[$€£¥%]|[a-z]{1,24}))?\.?$/i;
/** Digits in groups of three, all parted by the same separator. */
const GROUPED = /^[1-9][0-9]{0,2}(?:([, \u00a0\u2009\u202f])[0-9]{3})(?:\1[0-9]{3})*$/;
/** Fewest decimals with which `1,234` may mean a fraction. */
const COMMA_DECIMALS = 3;

/** Words that change a number's size or direction, which no unit does. */
const NO_UNIT = new Set(
  (
    "hundred thousand million billion trillion dozen score half third quarter k m b t mn bn tn mio mrd " +
    "lakh crore mln bln tenth hundredth thousandth " +
    "and or to of not no less more fewer minus plus times over under above below before ago down loss deficit debit negative about " +
    "lower decrease decline behind early earlier south west am pm bc bce"
  ).split(" "),
);

/** Units with several names, each beside its sign. */
const NAMES: readonly (readonly string[])[] = [
  ["$", "dollar", "usd"],
  ["€", "euro", "eur"],
  ["£", "pound", "gbp"],
  ["¥", "yen", "jpy"],
  ["%", "percent", "percentage"],
];

/** The number in a text without outer and repeated spaces; null if the text can be read in two ways, or in none. */
export function readNumber(text: string, decimals: number, question: string): WrittenNumber | null {
  const { sign, money = "", digits = "", fraction = "", unit = "" } = NUMBER.exec(text)?.groups ?? {};
  if (sign === undefined || (money !== "" && unit !== "")) return null;
  const whole = ungrouped(digits, fraction, decimals);
  return whole === null || !isAsked(money || unit, question) ? null : { isNegative: sign === "-", whole, fraction };
}

/** The digits without separators; null if they are no groups of thousands, or may be a fraction behind a comma. */
function ungrouped(digits: string, fraction: string, decimals: number): string | null {
  const separators = digits.replace(/[0-9]/g, "");
  if (separators === "") return digits;
  const mayBeFraction = separators === "," && fraction === "" && decimals >= COMMA_DECIMALS;
  return GROUPED.test(digits) && !mayBeFraction ? digits.replace(/[^0-9]/g, "") : null;
}

/** True if the question names the unit: by its sign, or by a name in any case, in singular or plural. */
function isAsked(unit: string, question: string): boolean {
  if (unit === "") return true;
  const name = singular(unit);
  const names = NAMES.find((one) => one.includes(name)) ?? [name];
  if (NO_UNIT.has(name) || NO_UNIT.has(unit.toLowerCase())) return false;
  // The s of "what's" is no word.
  const words = new Set((question.match(/(?<![a-z]['\u2019]?)[a-z]+/gi) ?? []).map(singular));
  return names.some((one) => (/[a-z]/.test(one) ? words.has(one) : question.includes(one)));
}

function singular(word: string): string {
  return word.toLowerCase().replace(/(.)s$/, "$1");
}
