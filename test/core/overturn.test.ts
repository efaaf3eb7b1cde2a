// SC2 by example: the same courses as test/contracts/overturned.test.ts, judged by the core.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bytesToHex, word } from "../../agents/core/encoding/bytes.ts";
import type { DecidedRound } from "../../agents/core/request/events.ts";
import { checkOverturns } from "../../agents/core/request/overturn.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { ABSENT, type AgentId, type NonAnswer, type Terms } from "../../agents/core/types.ts";

interface Course {
  readonly size: number;
  /** Null if it hung. */
  readonly outcome: bigint | null;
  /** Given if it found no answer; `outcome` is then the constant on the chain. */
  readonly status?: NonAnswer;
  /** Seats that were right at first; all unless given. The others earn alike, as where nobody was (PY6), and one is absent. */
  readonly paid?: number;
  /** The number of its first agent; committees share nobody unless given. */
  readonly from?: number;
}

/** Rounds of these committees, one attempt each. */
function roundsOf(courses: readonly Course[]): readonly DecidedRound[] {
  return courses.map(({ size, outcome, status, paid = size, from }, attempt) => {
    const first = from ?? 1 + attempt * 100;
    const seats = Array.from({ length: size }, (_, seat) => seat);
    return {
      committee: seats.map((seat) => ({ agentId: (first + seat) as AgentId })),
      decision: {
        attempt,
        status: outcome === null ? "hung" : (status ?? "decided"),
        outcome: bytesToHex(word(BigInt.asUintN(256, outcome ?? 0n))),
        shares: seats.map((seat) => (seat < paid ? 30 : seat === paid ? ABSENT : 1)),
      },
    } as unknown as DecidedRound;
  });
}

const [no, yes] = [0n, 1n];
const boolean = defaultTerms({ protocol: 1, kind: "boolean" });
const first = (outcome: bigint | null): Course => ({ size: 4, outcome });
const second = (outcome: bigint | null, more: Partial<Course> = {}): Course => ({ size: 9, outcome, ...more });
const third = (outcome: bigint | null, more: Partial<Course> = {}): Course => ({ size: 19, outcome, ...more });

const fewKnew = (attempt: number): string =>
  `no more than a third of the seats of attempt ${attempt} were right before they saw what others answer, and are of agents that do not sit in ${attempt === 1 ? "attempt 0" : "attempt 0 or attempt 1"}`;

/** For each round but the last: the round that overturned it before the last one, or why it stands. */
const judged = (courses: readonly Course[], terms: Terms = boolean): readonly (number | string)[] =>
  checkOverturns(terms, roundsOf(courses)).map((check) => ("why" in check ? check.why : check.overturn.second));

describe("SC2: overturned decisions", () => {
  it("two larger committees that agree overturn the first", () => {
    assert.deepEqual(judged([first(no), second(yes), third(yes)]), [1, "attempt 2 agrees with it"]);
  });

  it("of three appeals two decisions fall at once, each by its own pair", () => {
    const last = { size: 39, outcome: 2n };
    const choice = defaultTerms({ protocol: 1, kind: "choice", options: 3 });
    const checks = judged([first(0n), second(1n), third(2n), last], choice);
    assert.deepEqual(checks, [2, 2, "attempt 3 agrees with it"]);
  });

  it("a hung committee between them says nothing", () => {
    assert.deepEqual(judged([first(no), second(yes), third(null), third(yes)]).slice(0, 1), [1]);
  });

  it("EQ6: a committee that found no answer overturns nothing and is not overturned, and its outcome is not the number -1", () => {
    const number = defaultTerms({ protocol: 1, kind: "number", tolerance: 5n });
    const none = { outcome: -1n, status: "unanswerable" } as const;
    assert.equal(judged([first(40n), second(-1n), third(-1n)], number)[0], 1);
    assert.equal(judged([first(40n), second(-1n, none), third(-1n)], number)[0], "attempt 1 found no answer");
    assert.equal(judged([first(40n), second(-1n), third(-1n, none)], number)[0], "attempt 2 found no answer");
    const wrong = judged([{ ...first(-1n), ...none }, second(40n), third(40n)], number)[0];
    assert.equal(wrong, "it found no answer: nobody loses stake for that");
    assert.equal(judged([first(40n), second(41n, none), third(-9n), { size: 39, outcome: -9n }], number)[0], 2);
  });

  for (const [why, courses] of [
    ["attempt 2 agrees with it", [first(no), second(yes), third(no)]],
    ["attempt 1 agrees with it", [first(yes), second(yes), third(no)]],
    ["attempt 2 hung", [first(no), second(yes), third(null)]],
    ["attempt 1 hung", [first(no), second(null), third(yes)]],
    ["it hung: nobody loses stake for that", [first(null), second(yes), third(yes)]],
    ["only one committee came after it", [first(no), second(yes)]],
    ["the committee of attempt 1 is not larger", [first(no), { size: 4, outcome: yes }, second(yes)]],
    ["the committee of attempt 2 is not larger than that of attempt 1", [first(no), second(yes), second(yes)]],
    [fewKnew(1), [first(no), second(yes, { paid: 3 }), third(yes, { paid: 7 })]],
    [fewKnew(2), [first(no), second(yes, { paid: 4 }), third(yes, { paid: 6 })]],
    // Agents 1 to 4 sit in the first committee, 101 to 109 in the second one.
    [fewKnew(1), [first(no), second(yes, { paid: 4, from: 4 }), third(yes)]],
    [fewKnew(2), [first(no), second(yes), third(yes, { paid: 7, from: 4 })]],
    [fewKnew(2), [first(no), second(yes), third(yes, { paid: 15, from: 101 })]],
  ] as const)
    it(`nothing is overturned: ${why}`, () => {
      assert.equal(judged(courses)[0], why);
    });

  it("more than a third of each larger committee suffices", () => {
    assert.equal(judged([first(no), second(yes, { paid: 4 }), third(yes, { paid: 7 })])[0], 1);
  });

  it("agents that sit again do not count, and protect nobody", () => {
    assert.equal(judged([first(no), second(yes, { paid: 5, from: 4 }), third(yes, { paid: 16, from: 101 })])[0], 1);
  });

  it("numbers agree within the tolerance, also below 0", () => {
    const number = defaultTerms({ protocol: 1, kind: "number", tolerance: 10n });
    const of = (...[a, b, c]: readonly [bigint, bigint, bigint]) => judged([first(a), second(b), third(c)], number)[0];
    assert.equal(of(-20n, 0n, 10n), 1);
    assert.equal(of(0n, 20n, 40n), "attempt 1 and attempt 2 disagree");
    assert.equal(of(0n, 10n, 20n), "attempt 1 agrees with it");
  });
});
