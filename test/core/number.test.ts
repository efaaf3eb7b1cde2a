import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { canonicalAnswer as canonical } from "../../agents/core/request/answer.ts";
import type { CanonicalAnswer } from "../../agents/core/request/kinds.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import type { Terms } from "../../agents/core/types.ts";
import { anyText } from "../support/any-text.ts";
import { assertBelow } from "../support/assertions.ts";
import { processorMs } from "../support/processor-time.ts";

function numberTerms(decimals: number): Terms {
  return defaultTerms({ protocol: 1, kind: "number", decimals });
}

function canonicalAnswer(terms: Terms, text: string, question = ""): CanonicalAnswer | null {
  return canonical({ terms, question }, text);
}

describe("numbers as they are written", () => {
  it("EQ5 takes no s for a unit that every question names, nor the end of What's for a unit", () => {
    for (const question of ["Within how many minutes?", "What's the time in minutes?", "In how many minutes’s time?"])
      for (const input of ["90 s", "90s", "90 S"]) assert.equal(canonicalAnswer(numberTerms(0), input, question), null);
    assert.equal(canonicalAnswer(numberTerms(0), "90 minutes", "What is the minute's number?")?.text, "90");
    assert.equal(canonicalAnswer(numberTerms(0), "90 s", "How many s does it take?")?.text, "90");
  });

  it("EQ5 takes off no word that turns a number around, so that opposite answers are not one", () => {
    const question =
      "In what year, BC or AD, and at what hour, am or pm; how many degrees north, south, east or west; how much lower, higher, earlier, later, behind or ahead; 2 lakh, 3 crore";
    for (const word of ["BC", "am", "pm", "South", "west", "lower", "earlier", "behind", "lakh"])
      assert.equal(canonicalAnswer(numberTerms(0), `44 ${word}`, question), null, word);
  });

  it("EQ5 reads numbers with groups of thousands, a full stop, and the unit that the question names", () => {
    const question = "Within how many days must the $2 be paid, and at what percentage? The river Po is 650 km long.";
    const cases: readonly (readonly [decimals: number, input: string, text: string])[] = [
      [0, "1,000", "1000"],
      [0, "1 000", "1000"],
      [0, "1\u00a0000", "1000"],
      [0, "1\u202f234\u202f567", "1234567"],
      [2, "-1,234,567.5", "-1234567.5"],
      [0, "4.", "4"],
      [2, "4.5.", "4.5"],
      [0, "7 days", "7"],
      [0, "7 Day.", "7"],
      [0, "1,000 days", "1000"],
      [0, "$4", "4"],
      [2, "-$ 4.50", "-4.5"],
      [0, "4 $", "4"],
      [0, "4 dollars", "4"],
      [0, "4 USD", "4"],
      [1, "2.5%", "2.5"],
      [1, "2.5 percent", "2.5"],
      [0, "650km", "650"],
      [2, "1,000.50", "1000.5"],
      [18, "1,000.5", "1000.5"],
      [18, "1,000,000", "1000000"],
      [18, "1 000", "1000"],
    ];
    for (const [decimals, input, text] of cases)
      assert.equal(canonicalAnswer(numberTerms(decimals), input, question)?.text, text, input);
  });

  it("EQ5 refuses a number that can be read in two ways, or whose unit the question does not name", () => {
    const question =
      "How many days or euros, plus $2? No less than 3 million, minus 4; a third at 2 p.m. 1e3 or 4k, x and e and b";
    const none = [
      "1,5",
      "1.000,5",
      "1,00",
      "12,34,567",
      "0,123",
      "1,000,5",
      "1 00",
      "10 00",
      "1, 000",
      "1,000 000",
      "1 1 1",
      "4 or 5",
      "4-5",
      "4/5",
      "4 + 5",
      "2 + 2 = 4",
      "= 4",
      "~4",
      "<4",
      "4!",
      "(4)",
      "4..",
      "4 .",
      "№4",
      "4²",
      "1'000",
      "1e3",
      "1 e3",
      "0x10",
      "3 million",
      "3 m",
      "4k",
      "4 b",
      "a third",
      "1 third",
      "4 less",
      "4 minus",
      "minus 4",
      "4 or",
      "7 hours",
      "7 day s",
      "days 7",
      "7 days or",
      "7 days 3",
      "£4",
      "4 pounds",
      "4%",
      "4 percent",
      "$4 dollars",
      "$$4",
      "$-4",
      "4 d",
      "4 dayz",
      "4 dåys",
      "4 day\u017f",
      "４",
      "4 \u0434",
      "-",
      "$",
      "days",
      ",",
      ".",
      "4\u00a0\u00a0000",
    ];
    for (const input of none) assert.equal(canonicalAnswer(numberTerms(2), input, question), null, input);
    for (const input of ["7 days", "$4", "4 %"]) assert.equal(canonicalAnswer(numberTerms(2), input), null, input);
    // With three decimals it may be 1.234.
    assert.equal(canonicalAnswer(numberTerms(3), "1,234"), null);
    assert.equal(canonicalAnswer(numberTerms(2), "1,234")?.text, "1234");
  });

  it("EQ5, property: the canonical text is its own canonical form, whatever was written", () => {
    const question = "How many days, dollars, % or km?";
    const part = fc.constantFrom(
      ...Array.from("0123456789,. +-$%\u00a0"),
      "000",
      ",000",
      " days",
      "km",
      "million",
      "€",
    );
    const written = fc.array(part, { maxLength: 14 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.oneof(written, anyText({ maxLength: 40 })), fc.nat(18), (text, decimals) => {
        const terms = numberTerms(decimals);
        const answer = canonicalAnswer(terms, text, question);
        if (answer !== null) assert.deepEqual(canonicalAnswer(terms, answer.text), answer);
      }),
      { numRuns: 1_000 },
    );
  });

  it("EQ5, property: two plain decimals agree only if they are equal, and groups and units change nothing", () => {
    const decimal = fc.tuple(fc.boolean(), fc.bigInt(0n, 10n ** 20n), fc.nat(4));
    const plain = ([isNegative, units, decimals]: [boolean, bigint, number]): string => {
      const digits = units.toString().padStart(decimals + 1, "0");
      const [whole, fraction] = [digits.slice(0, digits.length - decimals), digits.slice(digits.length - decimals)];
      return `${isNegative ? "-" : ""}${whole}${decimals === 0 ? "" : `.${fraction}`}`;
    };
    const value = ([isNegative, units, decimals]: [boolean, bigint, number]): bigint =>
      (isNegative ? -units : units) * 10n ** BigInt(4 - decimals);
    const terms = numberTerms(4);
    fc.assert(
      fc.property(decimal, decimal, fc.constantFrom(" ", "\u202f"), (one, other, separator) => {
        const [a, b] = [canonicalAnswer(terms, plain(one)), canonicalAnswer(terms, plain(other))];
        assert.equal(a?.outcome === b?.outcome, value(one) === value(other));
        const [whole = "", ...fraction] = plain(one).split(".");
        const grouped = [whole.replace(/(?<=[0-9])(?=(?:[0-9]{3})+$)/g, separator), ...fraction].join(".");
        assert.deepEqual(canonicalAnswer(terms, `${grouped} days.`, "How many days?"), a);
      }),
    );
  });

  it("EQ5 takes no longer for a hostile text or question", async () => {
    const texts = [
      "1,000".repeat(200),
      "1 ".repeat(500),
      `1${",000".repeat(250)}x`,
      `$${"9".repeat(1000)}`,
      "a".repeat(1024),
    ];
    const questions = ["days ".repeat(1600), "a".repeat(8192), "$".repeat(8192), "a1".repeat(4096)];
    const tookMs = await processorMs(() => {
      for (const text of texts) for (const question of questions) canonicalAnswer(numberTerms(18), text, question);
    });
    assertBelow(tookMs, 1_000);
  });
});
