import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { canonicalAnswer, type SeatAnswer } from "../../agents/core/request/answer.ts";
import { MATCH, answerClasses, matchCalls, matchForm } from "../../agents/core/phases/equivalence.ts";
import { compareHex } from "../../agents/core/encoding/bytes.ts";
import { limits } from "../../agents/core/limits.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { closeForm, heldOf, withSeen, type RoundBook } from "../../agents/core/phases/round-book.ts";
import { emptyTally, roundSlots } from "../../agents/core/seat/tally.ts";
import type { Attempt, SeatIndex } from "../../agents/core/types.ts";
import { attemptOf, runCommittee, type SeatScript } from "../support/core/committee.ts";
import { put } from "../support/core/mbft-set.ts";
import { assertFields, assertIncludes, assertSameMembers } from "../support/assertions.ts";

const plan = { forms: [matchForm, closeForm], partial: new Set<number>() };

type Pairs = readonly (readonly [string, string])[];

/** A round in which each seat judged the pairs it lists to be the same, `denied` to differ; everybody held everything. */
function judged(attempt: Attempt, same: readonly Pairs[], denied: Readonly<Record<number, Pairs>> = {}): RoundBook {
  let tally = emptyTally;
  same.forEach((pairs, seat) => {
    const word = (verdict: boolean, [a, b]: readonly [string, string]) => {
      const [first, second] = [outcomeOf(attempt, a), outcomeOf(attempt, b)].toSorted(compareHex);
      return { first: first!, second: second!, same: verdict };
    };
    const matches = [
      ...pairs.map((pair) => word(true, pair)),
      ...(denied[seat] ?? []).map((pair) => word(false, pair)),
    ];
    tally = put(tally, attempt, 0, seat, MATCH, matchForm.encode({ matches }));
  });
  const book = (): RoundBook => ({ attempt, round: 0, plan, slots: roundSlots(tally, 0) });
  const held = heldOf(book(), matchForm);
  for (const seat of same.keys()) tally = put(tally, attempt, 0, seat, closeForm.phase, withSeen({}, held));
  return book();
}

function outcomeOf(attempt: Attempt, text: string) {
  return canonicalAnswer(attempt.request, text)!.outcome;
}

function answersOf(attempt: Attempt, texts: readonly string[]): readonly SeatAnswer[] {
  return texts.map((text, seat) => ({
    seat: seat as SeatIndex,
    answer: canonicalAnswer(attempt.request, text)!,
  }));
}

function classesOf(book: RoundBook, texts: readonly string[]): readonly string[] {
  return answerClasses(book, answersOf(book.attempt, texts), "closed")
    .map(({ seats, representative }) => `${representative.text}: ${seats.join(" ")}`)
    .toSorted();
}

describe("texts judged to be the same", () => {
  const attempt = attemptOf(4, { kind: "text" });
  const near = [["a refund is due", "refund due"]] as const;

  it("EQ3: more than half of the seats make two texts one class; half do not", () => {
    const texts = ["refund due", "a refund is due", "no refund", "refund due"];
    assert.deepEqual(classesOf(judged(attempt, [near, near, near, []]), texts), ["no refund: 2", "refund due: 0 1 3"]);
    assert.deepEqual(classesOf(judged(attempt, [near, near, [], []]), texts), [
      "a refund is due: 1",
      "no refund: 2",
      "refund due: 0 3",
    ]);
  });

  it("EQ3: an author that judged its own text to differ stays out, whatever the others say", () => {
    const texts = ["pay Bob", "pay Alice", "pay Alice now", "pay Alice"];
    const lie = [["pay Bob", "pay Alice now"]] as const;
    assertIncludes(classesOf(judged(attempt, [lie, lie, [], lie]), texts), "pay Bob: 0 2");
    assertIncludes(classesOf(judged(attempt, [lie, lie, [], lie], { 2: lie }), texts), "pay Alice now: 2");
  });

  it("EQ3, H08: a chain of near-equals does not join its ends", () => {
    const chain = [
      ["a", "b"],
      ["b", "c"],
    ] as const;
    const book = judged(attempt, [chain, chain, chain, chain]);
    const founded = classesOf(book, ["a", "a", "b", "c"]);
    assert.deepEqual(founded, ["a: 0 1 2", "c: 3"]);
  });

  it("EQ3: classes are a partition, whatever seats judged and in any order of the answers", () => {
    const text = fc.constantFrom("a", "b", "c", "d");
    const word = fc.tuple(text, text).filter(([a, b]) => a !== b);
    fc.assert(
      fc.property(
        fc.array(fc.uniqueArray(word, { maxLength: 3, selector: (texts) => texts.toSorted().join("") }), {
          minLength: 4,
          maxLength: 4,
        }),
        fc.array(text, { minLength: 4, maxLength: 4 }),
        (words, texts) => {
          const book = judged(attempt, words);
          const answers = answersOf(attempt, texts);
          const classes = answerClasses(book, answers, "closed");
          assertSameMembers(
            classes.flatMap(({ seats }) => seats),
            [0, 1, 2, 3],
          );
          assert.deepEqual(answerClasses(book, answers.toReversed(), "closed"), classes);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("EQ1, EQ2: answers of other kinds are not compared, and pairs are bounded", () => {
    const view = (of: Attempt) =>
      ({
        attempt: of,
        book: judged(
          of,
          Array.from({ length: 16 }, () => []),
        ),
      }) as unknown as Parameters<typeof matchCalls>[0];
    const count = (seats: number): number => {
      const many = attemptOf(seats, { kind: "text" });
      const texts = Array.from({ length: seats }, (_, seat) => `text ${seat}`);
      const calls = matchCalls(view(many), answersOf(many, texts));
      assert.equal(new Set(calls.map(({ about }) => about.join("."))).size, calls.length);
      return calls.length;
    };
    assert.deepEqual([4, 7, 13, 16].map(count), [3 + 2, 6 + 5 + 4, 12 + 11 + 10 + 9 + 8, limits.matchPairs]);
    const many = attemptOf(16, { kind: "text" });
    assert.deepEqual(matchCalls(view(many), answersOf(many, ["same", "same"])), []);
  });

  it("a malformed comparison is rejected: unordered, repeated, of one text, or one too many", () => {
    const [low, high] = ["a", "b"].map((text) => outcomeOf(attempt, text)).toSorted(compareHex);
    const accepts = (matches: readonly object[]) =>
      matchForm.decode(attempt, matchForm.encode({ matches: matches as never })) !== null;
    const match = { first: low, second: high, same: true };
    assert.equal(accepts([match]), true);
    assert.equal(accepts([{ ...match, first: high, second: low }]), false);
    assert.equal(accepts([{ ...match, second: low }]), false);
    assert.equal(accepts([match, { ...match, same: false }]), false);
  });

  it("mbft decides a text that three seats word differently, with one certificate", () => {
    const wording = ["refund due", "the refund is due", "a refund is due", "refund due"];
    const scripts = wording.map((text): SeatScript => ({
      answer: ({ ask }) => {
        if (ask.includes("propose")) return { fields: { proof: "p", answer: text } };
        if (ask.includes("match")) return { fields: { check: "c", verdict: "same" } };
        return { fields: { check: "c", verdict: "accept" } };
      },
    }));
    const run = runCommittee(mbft, attempt, scripts);
    for (const certificate of run.certificates)
      assertFields(certificate?.decision, { status: "decided", answer: "refund due" });
  });
});
