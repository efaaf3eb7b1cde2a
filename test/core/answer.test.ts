import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { canonicalAnswer as canonical, groupAnswers, type SeatAnswer } from "../../agents/core/request/answer.ts";
import { KIND_RULES, policiesOf, type CanonicalAnswer } from "../../agents/core/request/kinds.ts";
import { composeText } from "../../agents/core/request/text.ts";
import { keccak256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { limits } from "../../agents/core/limits.ts";
import {
  ANSWER_KINDS,
  ONE_PPM,
  type AnswerKind,
  type Digest,
  type SeatIndex,
  type Terms,
} from "../../agents/core/types.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { assertAtLeast, assertWithin } from "../support/assertions.ts";
import { anyText } from "../support/any-text.ts";

const base = defaultTerms({ protocol: 1 });
const booleanTerms = base;
const choiceTerms: Terms = { ...base, kind: "choice", options: 3 };
const textTerms: Terms = { ...base, kind: "text" };
const policyTerms: Terms = { ...base, kind: "policies", options: 4 };

function canonicalAnswer(terms: Terms, text: string, question = ""): CanonicalAnswer | null {
  return canonical({ terms, question }, text);
}

function answersListed(terms: Terms): readonly string[] | null {
  return KIND_RULES[terms.kind].listed(terms);
}

/** The terms of the samples of the kind. */
function termsOf(kind: AnswerKind): Terms {
  return { ...base, kind, ...KIND_RULES[kind].samples.terms };
}

function numberTerms(decimals: number, tolerance = 0n): Terms {
  return { ...base, kind: "number", decimals, tolerance };
}

function outcome(value: bigint): Digest {
  return `0x${BigInt.asUintN(256, value).toString(16).padStart(64, "0")}` as Digest;
}

function textsOf(terms: Terms, inputs: readonly string[]): readonly (string | null)[] {
  return inputs.map((input) => canonicalAnswer(terms, input)?.text ?? null);
}

describe("answer: canonical form", () => {
  it("reads booleans", () => {
    for (const input of ["yes", "YES", " y ", "True", "\ttRuE\n"]) {
      assert.deepEqual(canonicalAnswer(booleanTerms, input), { text: "yes", outcome: outcome(1n) }, input);
    }
    for (const input of ["no", "N", "FALSE"]) {
      assert.deepEqual(canonicalAnswer(booleanTerms, input), { text: "no", outcome: outcome(0n) }, input);
    }
    const none = ["", "yes.", "yes no", "1", "0", "maybe", "not", "yeſ", "ｙｅｓ", "y\u00a0", "null"];
    for (const input of none) assert.equal(canonicalAnswer(booleanTerms, input), null, input);
  });

  it("reads choices below the number of options", () => {
    assert.deepEqual(canonicalAnswer(choiceTerms, "A"), { text: "A", outcome: outcome(0n) });
    assert.deepEqual(canonicalAnswer(choiceTerms, " c) "), { text: "C", outcome: outcome(2n) });
    assert.deepEqual(textsOf(choiceTerms, ["b.", "B)", "b"]), ["B", "B", "B"]);
    const none = ["D", "d)", "", "AB", "A))", "(A)", "1", "A B", "á", "İ", "["];
    for (const input of none) assert.equal(canonicalAnswer(choiceTerms, input), null, input);
    assert.deepEqual(canonicalAnswer({ ...choiceTerms, options: 26 }, "z"), { text: "Z", outcome: outcome(25n) });
  });

  it("reads numbers exactly", () => {
    const cases: readonly (readonly [number, string, string, bigint])[] = [
      [0, "42", "42", 42n],
      [0, "+0042.000", "42", 42n],
      [0, "-0", "0", 0n],
      [2, "-0.00", "0", 0n],
      [2, "3.1", "3.1", 310n],
      [2, "3.10000", "3.1", 310n],
      [2, "-0.05", "-0.05", -5n],
      [2, "100", "100", 10_000n],
      [18, "0.000000000000000001", "0.000000000000000001", 1n],
      [0, ` ${2n ** 127n - 1n} `, String(2n ** 127n - 1n), 2n ** 127n - 1n],
      [0, `-${2n ** 127n - 1n}`, String(1n - 2n ** 127n), 1n - 2n ** 127n],
    ];
    for (const [decimals, input, text, value] of cases) {
      assert.deepEqual(canonicalAnswer(numberTerms(decimals), input), { text, outcome: outcome(value) }, input);
    }
  });

  it("refuses a text that is not a decimal number, or is too precise or too large", () => {
    const none = ["", "-", "+", "1e3", ".5", "0x10", "NaN", "Infinity", "--1", "٣", "−1", "1.001", "1/2"];
    for (const input of none) assert.equal(canonicalAnswer(numberTerms(2), input), null, input);
    assert.equal(canonicalAnswer(numberTerms(0), String(2n ** 127n)), null);
    assert.equal(canonicalAnswer(numberTerms(0), `-${2n ** 127n}`), null);
    assert.equal(canonicalAnswer(numberTerms(1), String(2n ** 127n / 10n + 1n)), null);
    assert.equal(canonicalAnswer(numberTerms(0), "1".padStart(limits.answerBytes + 1, "0")), null);
  });

  it("reads bounded text byte for byte, except for white space", () => {
    assert.deepEqual(canonicalAnswer(textTerms, "  The  \n Hague\t"), {
      text: "The Hague",
      outcome: keccak256(utf8("The Hague")),
    });
    assert.deepEqual(textsOf(textTerms, ["the hague", "É", "E\u0301"]), ["the hague", "É", "E\u0301"]);
    const longest = "é".repeat(limits.answerBytes / 2);
    assert.equal(canonicalAnswer(textTerms, longest)?.text, longest);
    const none = [
      "",
      " \n",
      `${longest}a`,
      "a".repeat(limits.answerBytes + 1),
      "a\u0000",
      "a\u001b[2J",
      "a\u202eb",
      "\ud800",
      "\ufeffa",
      "a\u0085",
    ];
    for (const input of none) assert.equal(canonicalAnswer(textTerms, input), null, JSON.stringify(input));
  });

  it("D16 reads sets of policies, whatever their order, case and punctuation", () => {
    for (const input of ["A,C", "C,A", " c , a ", "A C", "a) c.", "C.,A)", "A ,C", "\tC\n A", "A.  ,  C)"]) {
      assert.deepEqual(canonicalAnswer(policyTerms, input), { text: "A,C", outcome: outcome(0b0101n) }, input);
    }
    assert.deepEqual(canonicalAnswer(policyTerms, "d"), { text: "D", outcome: outcome(0b1000n) });
    assert.deepEqual(canonicalAnswer(policyTerms, "D C B A"), { text: "A,B,C,D", outcome: outcome(0b1111n) });
    const all = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index));
    const every = canonicalAnswer({ ...policyTerms, options: 26 }, all.toReversed().join(" "));
    assert.deepEqual(every, { text: all.join(","), outcome: outcome(2n ** 26n - 1n) });
  });

  it("D16 refuses a text that is not a set of the question's policies", () => {
    const notOnce = ["A,A", "A a", "A,B,A)"];
    const notThere = ["E", "A,E", "1", "A,1", "none", "{}", "\u017f", "\u212a", "\uff21"];
    const notSeparated = ["AB", "A.B", "A)B", "A;B", "A/B", "A and B", "A & B", "A-C", "A\u00a0B", "A\u2028B"];
    const notWritten = ["", " ", ",", "A,,B", ",A", "A,", "(A)", "A))", "A.)", "A .", "[A]"];
    const none = [notOnce, notThere, notSeparated, notWritten].flat();
    for (const input of none) assert.equal(canonicalAnswer(policyTerms, input), null, JSON.stringify(input));
    // Letters that fold to S and K.
    for (const input of ["\u017f", "\u212a"])
      assert.equal(canonicalAnswer({ ...policyTerms, options: 26 }, input), null, JSON.stringify(input));
    assert.equal(canonicalAnswer(policyTerms, `A${" ".repeat(limits.answerBytes)}`), null);
    assert.equal(canonicalAnswer({ ...policyTerms, options: 0 }, "A"), null);
  });

  it("D16 a set of policies survives encoding as an outcome, and any spelling", () => {
    const written = fc.integer({ min: 1, max: 26 }).chain((options) =>
      fc.uniqueArray(fc.nat(options - 1), { minLength: 1 }).chain((indices) =>
        fc.record({
          options: fc.constant(options),
          indices: fc.constant(indices),
          input: fc
            .tuple(
              ...indices.map((index) =>
                fc
                  .tuple(
                    fc.boolean(),
                    fc.constantFrom("", ".", ")"),
                    fc.constantFrom(",", " ", ", ", " , ", "\n", " ,\t"),
                  )
                  .map(([isLower, mark, separator]) => {
                    const letter = String.fromCharCode(65 + index);
                    return `${isLower ? letter.toLowerCase() : letter}${mark}${separator}`;
                  }),
              ),
            )
            .map((parts) => parts.join("").replace(/[\s,]+$/, "")),
        }),
      ),
    );
    fc.assert(
      fc.property(written, ({ options, indices, input }) => {
        const answer = canonicalAnswer({ ...policyTerms, options }, input);
        assert.ok(answer, input);
        const sorted = indices.toSorted((a, b) => a - b);
        assert.deepEqual(policiesOf(answer.outcome), sorted);
        assert.equal(answer.text, sorted.map((index) => String.fromCharCode(65 + index)).join(","));
        assert.equal(
          BigInt(answer.outcome),
          sorted.map((index) => 2n ** BigInt(index)).reduce((a, b) => a + b),
        );
        assert.deepEqual(canonicalAnswer({ ...policyTerms, options }, answer.text), answer);
        // A policy that the question does not have, and one named twice.
        const more = String.fromCharCode(65 + options);
        if (options < 26) assert.equal(canonicalAnswer({ ...policyTerms, options }, `${answer.text},${more}`), null);
        assert.equal(canonicalAnswer({ ...policyTerms, options }, `${answer.text},${answer.text}`), null);
      }),
      { numRuns: 500 },
    );
  });

  it("reads the samples of every kind: the valid ones fit it and are not all the same", () => {
    fc.assert(
      fc.property(fc.constantFrom(...ANSWER_KINDS), fc.integer({ min: -50, max: 5_000 }), (kind, number) => {
        const { samples, fits } = KIND_RULES[kind];
        const terms = termsOf(kind);
        const answers = samples.valid(() => number).map((text) => canonicalAnswer(terms, text) ?? assert.fail(text));
        assertAtLeast(new Set(answers.map(({ outcome: value }) => value)).size, 2);
        for (const { text, outcome: value } of answers) assert.ok(fits(BigInt(value), terms, text), `${kind} ${text}`);
        assertAtLeast(samples.invalid.length, 1);
        for (const text of samples.invalid) assert.equal(canonicalAnswer(terms, text), null, `${kind} ${text}`);
      }),
    );
  });

  it("PY2 agrees in part with itself in whole, and with another one in no more than a part", () => {
    for (const kind of ANSWER_KINDS) {
      const { agreement, samples } = KIND_RULES[kind];
      const texts = agreement === undefined ? [] : samples.valid(() => 7);
      const outcomes = texts.map((text) => canonicalAnswer(termsOf(kind), text)?.outcome ?? assert.fail(text));
      for (const own of outcomes)
        for (const decided of outcomes) {
          const part = agreement?.(own, decided) ?? assert.fail(kind);
          assert.equal(part, agreement?.(decided, own));
          if (own === decided) assert.equal(part, ONE_PPM);
          else assertWithin(part, 0, ONE_PPM - 1);
        }
    }
  });

  it("composes a model's text into Unicode's composed form before its author signs it", () => {
    assert.equal(composeText("E\u0301\ud800"), "É\ufffd");
    assert.notEqual(canonicalAnswer(textTerms, composeText("\ud800x")), null);
  });

  it("leaves out of a model's text what shows nothing, and keeps what joins letters and pictures", () => {
    for (const text of ["Ber\u200blin", "\ufeffBerlin", "Ber\u00adlin\u2060", "\u202eBerlin\u202c", "Berlin\u200e"])
      assert.equal(composeText(text), "Berlin", JSON.stringify(text));
    for (const text of ["\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\ud83d\udc69\u200d\ud83d\udd2c"])
      assert.equal(composeText(text), text, JSON.stringify(text));
  });

  it("is its own canonical form, and never throws", () => {
    const terms = fc.constantFrom(
      booleanTerms,
      choiceTerms,
      textTerms,
      policyTerms,
      numberTerms(0),
      numberTerms(2),
      numberTerms(18),
    );
    const number = fc
      .tuple(fc.bigInt(-(2n ** 130n), 2n ** 130n), fc.nat(999))
      .map(([whole, part]) => `${whole}.${part}`);
    const input = fc.oneof(fc.string(), anyText(), number, fc.constantFrom("yes", "B)", "-0.50", "d, A) b"));
    fc.assert(
      fc.property(terms, input, (kind, text) => {
        const answer = canonicalAnswer(kind, text);
        if (answer === null) return;
        assert.deepEqual(canonicalAnswer(kind, answer.text), answer);
        assert.ok(utf8(answer.text).length <= limits.answerBytes);
      }),
      { numRuns: 500 },
    );
  });

  it("lists the answers of a schema, each of them canonical", () => {
    assert.deepEqual(answersListed(booleanTerms), ["yes", "no"]);
    assert.deepEqual(answersListed(choiceTerms), ["A", "B", "C"]);
    assert.equal(answersListed(numberTerms(2)), null);
    assert.equal(answersListed(textTerms), null);
    assert.equal(answersListed(policyTerms), null);
    for (const terms of [booleanTerms, { ...choiceTerms, options: 26 }]) {
      const listed = answersListed(terms) ?? [];
      assert.deepEqual(textsOf(terms, listed), listed);
    }
  });
});

function entries(terms: Terms, texts: readonly string[]): readonly SeatAnswer[] {
  return texts.map((text, seat) => ({
    seat: seat as SeatIndex,
    answer: canonicalAnswer(terms, text) as CanonicalAnswer,
  }));
}

function summary(terms: Terms, texts: readonly string[]): readonly (readonly [string, readonly number[]])[] {
  return groupAnswers(terms, entries(terms, texts)).map(({ representative, seats }) => [representative.text, seats]);
}

describe("answer: groups", () => {
  it("joins equal outcomes, in the order of their bytes", () => {
    assert.deepEqual(summary(booleanTerms, ["yes", "no", "Y"]), [
      ["no", [1]],
      ["yes", [0, 2]],
    ]);
    assert.deepEqual(summary(choiceTerms, ["C", "A", "c)"]), [
      ["A", [1]],
      ["C", [0, 2]],
    ]);
    assert.deepEqual(groupAnswers(textTerms, []), []);
    // Equal sets agree, overlapping ones do not.
    assert.deepEqual(summary(policyTerms, ["C A", "A", "a,c", "A,B,C"]), [
      ["A", [1]],
      ["A,C", [0, 2]],
      ["A,B,C", [3]],
    ]);
    const texts = groupAnswers(textTerms, entries(textTerms, ["x", "y", "z", "x"]));
    assert.deepEqual(
      texts.map(({ representative }) => representative.outcome),
      texts.map(({ representative }) => representative.outcome).toSorted(),
    );
    assert.equal(texts.length, 3);
  });

  it("joins numbers within tolerance of the smallest, which does not chain", () => {
    assert.deepEqual(summary(numberTerms(0, 2n), ["5", "1", "3", "2"]), [
      ["2", [1, 2, 3]],
      ["5", [0]],
    ]);
    assert.deepEqual(summary(numberTerms(1, 5n), ["-0.2", "0.3", "0.4"]), [
      ["-0.2", [0, 1]],
      ["0.4", [2]],
    ]);
    assert.deepEqual(summary(numberTerms(0), ["-1", "1", "-1.0"]), [
      ["-1", [0, 2]],
      ["1", [1]],
    ]);
    // Signed order, not the order of the two's complement.
    assert.deepEqual(summary(numberTerms(0), ["1", "-1"]), [
      ["-1", [1]],
      ["1", [0]],
    ]);
  });

  it("represents a class by its lower median", () => {
    assert.deepEqual(summary(numberTerms(0, 10n), ["1", "2", "9", "10"]), [["2", [0, 1, 2, 3]]]);
    assert.deepEqual(summary(numberTerms(0, 10n), ["10", "10", "10", "1", "2"]), [["10", [0, 1, 2, 3, 4]]]);
  });

  it("does not depend on the order of the answers, and puts every seat in one class", () => {
    const terms = fc.constantFrom(...ANSWER_KINDS.map(termsOf), numberTerms(1), numberTerms(1, 7n), numberTerms(0, 3n));
    const text = (kind: Terms["kind"]): fc.Arbitrary<string> =>
      kind === "number"
        ? fc.integer({ min: -12, max: 12 }).map(String)
        : fc.constantFrom(...KIND_RULES[kind].samples.valid(() => 7));
    const inputs = terms.chain((kind) =>
      fc.array(text(kind.kind), { maxLength: 12 }).chain((texts) => {
        const given = entries(kind, texts);
        return fc.record({
          kind: fc.constant(kind),
          given: fc.constant(given),
          shuffled: fc.shuffledSubarray([...given], { minLength: given.length }),
        });
      }),
    );
    fc.assert(
      fc.property(inputs, ({ kind, given, shuffled }) => {
        const groups = groupAnswers(kind, given);
        assert.deepEqual(groupAnswers(kind, shuffled), groups);
        assert.deepEqual(
          groups.flatMap(({ seats }) => seats).toSorted((a, b) => a - b),
          given.map(({ seat }) => seat),
        );
        for (const { representative, seats } of groups) {
          assert.ok(seats.some((seat) => given[seat]?.answer.outcome === representative.outcome));
          const values = seats.map((seat) => BigInt.asIntN(256, BigInt(given[seat]?.answer.outcome ?? "")));
          const spread = values.reduce((a, b) => (a > b ? a : b)) - values.reduce((a, b) => (a < b ? a : b));
          if (kind.kind === "number") assert.ok(spread <= kind.tolerance);
        }
      }),
      { numRuns: 500 },
    );
  });
});
