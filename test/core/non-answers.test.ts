import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { classesBy, type Equivalences } from "../../agents/core/phases/equivalence.ts";
import { outcomeFrom } from "../../agents/core/phases/outcome.ts";
import { agreementWith, NOBODY_BLIND } from "../../agents/core/phases/pay.ts";
import { TIER_MAX } from "../../agents/core/phases/tiers.ts";
import { withVerdict } from "../../agents/core/prompts/task-prompt.ts";
import { canonicalAnswer, groupAnswers, isSameAnswer, type SeatAnswer } from "../../agents/core/request/answer.ts";
import { KIND_RULES, type CanonicalAnswer } from "../../agents/core/request/kinds.ts";
import { NON_ANSWER_OUTCOMES, nonAnswerIn, saidNonAnswer } from "../../agents/core/request/non-answers.ts";
import { grounded } from "../../agents/core/sources/named.ts";
import { ANSWER_KINDS, type Attempt, type SeatIndex, type Terms } from "../../agents/core/types.ts";
import { attemptOf } from "../support/core/committee.ts";
import { line, RULES } from "../support/core/sources-scripts.ts";

const UNANSWERABLE = saidNonAnswer("unanswerable");
const TOO_EARLY = saidNonAnswer("tooEarly");
const FORMS = { options: 3, decimals: 0, tolerance: 0n };

/** The attempt as protocols see it, with a source or without one. */
function asking(terms: Partial<Terms>, sources: readonly string[] = [line(RULES)]): Attempt {
  const attempt = attemptOf(4, { ...FORMS, ...terms });
  const question = ["What is it?", ...sources].join("\n");
  return grounded({ ...attempt, request: { ...attempt.request, question } });
}

/** An answer of the question's kind, as a text. */
function answerText({ kind, options }: Terms): fc.Arbitrary<string> {
  const letters = Array.from({ length: options }, (_, index) => String.fromCharCode(65 + index));
  switch (kind) {
    case "choice":
      return fc.constantFrom(...letters);
    case "number":
      return fc
        .oneof(fc.integer({ min: -4, max: 2 }), fc.bigInt({ min: 1n - (1n << 127n), max: (1n << 127n) - 1n }))
        .map(String);
    case "text":
      return fc.string({ minLength: 1, maxLength: 20 });
    case "policies":
      return fc.subarray(letters, { minLength: 1 }).map((all) => all.join(","));
    default:
      return fc.constantFrom(...KIND_RULES[kind].samples.valid((least) => least));
  }
}

describe("non-answers", () => {
  it("EQ6, SG10: their words are read in every kind where a question names sources and its terms accept them, and nowhere else", () => {
    const written = ["unanswerable", " Unanswerable.", "UNANSWERABLE", "too early", "Too\n early.", "too-early"];
    for (const kind of ANSWER_KINDS) {
      const { request } = asking({ kind });
      for (const [index, text] of written.entries())
        assert.deepEqual(canonicalAnswer(request, text), index < 3 ? UNANSWERABLE : TOO_EARLY, `${kind} ${text}`);
      for (const elsewhere of [asking({ kind }, []), asking({ kind, nonAnswers: "refused" })])
        for (const text of written) {
          const read = canonicalAnswer(elsewhere.request, text);
          assert.equal(read === null, kind !== "text", `${kind} ${text}`);
          if (read !== null) assert.equal(nonAnswerIn(read), null);
        }
    }
    const { request } = asking({});
    for (const text of ["unanswered", "it is unanswerable", "unanswerable?", "tooearly", "too late", "unknown", ""])
      assert.equal(canonicalAnswer(request, text), null, text);
  });

  it("EQ6, property: the canonical text of a non-answer is its own canonical form, and no answer of any kind has its value", () => {
    for (const kind of ANSWER_KINDS) {
      const { request } = asking({ kind, options: 26 });
      for (const one of [UNANSWERABLE, TOO_EARLY]) assert.deepEqual(canonicalAnswer(request, one.text), one);
      fc.assert(
        fc.property(answerText(request.terms), (text) => {
          const answer = canonicalAnswer(request, text);
          fc.pre(answer !== null);
          assert.equal(nonAnswerIn(answer), null);
          for (const other of [UNANSWERABLE, TOO_EARLY]) {
            assert.equal(isSameAnswer(request.terms, answer, other), false);
            assert.equal(agreementWith(asking({ kind }), { answer: other, alike: [] }, answer), 0);
            assert.equal(agreementWith(asking({ kind }), { answer, alike: [] }, other), 0);
          }
        }),
      );
    }
  });

  it("EQ6: each agrees with itself alone, whatever the tolerance", () => {
    for (const kind of ANSWER_KINDS) {
      const attempt = asking({ kind, tolerance: (1n << 40n) - 1n });
      const { terms } = attempt.request;
      assert.equal(isSameAnswer(terms, UNANSWERABLE, UNANSWERABLE), true);
      assert.equal(isSameAnswer(terms, UNANSWERABLE, TOO_EARLY), false);
      assert.equal(agreementWith(attempt, { answer: TOO_EARLY, alike: [] }, TOO_EARLY), 1_000_000);
      assert.equal(agreementWith(attempt, { answer: TOO_EARLY, alike: [] }, UNANSWERABLE), 0);
      const near = { outcome: `0x80${"00".repeat(30)}05` } as CanonicalAnswer;
      assert.equal(isSameAnswer(terms, near, UNANSWERABLE), false, "a value beside it, as a vote may name");
    }
  });

  it("EQ0, EQ6, property: seats with non-answers are grouped by themselves, and the others as if nobody had given one", () => {
    for (const kind of ANSWER_KINDS)
      for (const tolerance of [0n, 3n]) {
        const { request } = asking({ kind, tolerance });
        const given = fc.array(fc.oneof(answerText(request.terms), fc.constantFrom("unanswerable", "too early")), {
          maxLength: 12,
        });
        fc.assert(
          fc.property(given, (texts) => {
            const all = texts.flatMap((text, seat): SeatAnswer[] => {
              const answer = canonicalAnswer(request, text);
              return answer === null ? [] : [{ seat: seat as SeatIndex, answer }];
            });
            const seatsOf = (one: CanonicalAnswer) =>
              all.filter(({ answer }) => answer.outcome === one.outcome).map(({ seat }) => seat);
            const groups = groupAnswers(request.terms, all);
            for (const none of [UNANSWERABLE, TOO_EARLY]) {
              const own = groups.filter(({ representative }) => representative.outcome === none.outcome);
              assert.deepEqual(
                own.flatMap(({ seats }) => seats),
                seatsOf(none),
              );
              assert.ok(own.length <= 1);
            }
            const answers = all.filter(({ answer }) => nonAnswerIn(answer) === null);
            assert.deepEqual(
              groups.filter(({ representative }) => nonAnswerIn(representative) === null),
              groupAnswers(request.terms, answers),
            );
          }),
        );
      }
  });

  it("EQ3, EQ6: no seat's word brings a text and a non-answer into one class", () => {
    const attempt = asking({ kind: "text" });
    const agreeing: Equivalences = { areSame: () => true, deniers: () => [] };
    const answers = ["unanswerable", "Nobody knows.", "Nobody can tell.", "too early"].map(
      (text, seat): SeatAnswer => ({
        seat: seat as SeatIndex,
        answer: canonicalAnswer(attempt.request, text)!,
      }),
    );
    const classes = classesBy(attempt, answers, agreeing).map(({ seats }) => seats.join());
    assert.deepEqual(classes.toSorted(), ["0", "1,2", "3"]);
  });

  it("EQ6: a decision has the status, Reality.eth's constant and no text; who is sure of something else falls", () => {
    const attempt = asking({});
    const sure = (text: string, seat: number) => ({
      seat: seat as SeatIndex,
      answer: canonicalAnswer(attempt.request, text)!,
      tier: TIER_MAX,
    });
    const answers = [sure("unanswerable", 0), sure("unanswerable", 1), sure("unanswerable", 2), sure("yes", 3)];
    for (const [answer, status] of [
      [UNANSWERABLE, "unanswerable"],
      [TOO_EARLY, "tooEarly"],
    ] as const) {
      const resolution = { slashes: [0, 0, 0, 0], completed: [0, 1, 2, 3] as SeatIndex[] };
      const blind = { ...NOBODY_BLIND, answers };
      const made = outcomeFrom(attempt, { winner: { answer, alike: [] }, blind, ...resolution });
      assert.equal(made.status, status);
      assert.equal(made.outcome, NON_ANSWER_OUTCOMES[status]);
      assert.equal(made.answer, "");
      const isRight = status === "unanswerable";
      assert.deepEqual(made.shares, isRight ? [240, 240, 240, 0] : [1, 1, 1, 1]);
      assert.deepEqual(made.reputationChanges, isRight ? [{ seat: 3, steps: -1 }] : []);
    }
  });

  it("P10, EQ6: a verifier that derives a non-answer rejects an answer, and accepts the same non-answer", () => {
    const { request } = asking({});
    const verdict = (judged: string, derived: string): string | undefined =>
      withVerdict({ judged }, request, { derived })["verdict"];
    assert.equal(verdict("yes", "unanswerable"), "reject");
    assert.equal(verdict("unanswerable", "yes"), "reject");
    assert.equal(verdict("unanswerable", "Unanswerable."), "accept");
    assert.equal(verdict("unanswerable", "too early"), "reject");
    assert.equal(verdict("unanswerable", "unknown"), "abstain");
  });
});
