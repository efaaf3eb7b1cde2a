import assert from "node:assert/strict";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { agrees } from "../../sim/plan.ts";
import { attemptFor } from "../eval/attempt.ts";
import { markOf } from "../eval/evaluate.ts";
import { byzantineOf, optionsFrom } from "../eval/options.ts";
import { poisoned } from "../eval/poison.ts";
import { formOf, isTest, questionsOf, SUITE_NAMES } from "../eval/question.ts";
import { meanOf, pairedDifference, shareOf } from "../eval/statistics.ts";
import { plainVote } from "../eval/vote.ts";
import {
  assertAbove,
  assertAtLeast,
  assertAtMost,
  assertBelow,
  assertClose,
  assertWithin,
} from "../../test/support/assertions.ts";

const [question] = questionsOf("arithmetic", 1, 1) as [ReturnType<typeof questionsOf>[number]];
const { terms } = attemptFor(question, 0, 4, "normal").request;

describe("eval: statistics", () => {
  it("has Wilson's interval", () => {
    const { share, interval } = shareOf(8, 10);
    assert.equal(share, 0.8);
    assertClose(interval[0], 0.4902, 0.0001);
    assertClose(interval[1], 0.9433, 0.0001);
    assertClose(shareOf(0, 2).interval[1], 0.6576, 0.0001);
  });

  it("has shares within intervals that shrink with more trials", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.double({ min: 0, max: 1, noNaN: true }), (trials, part) => {
        const hits = Math.round(part * trials);
        const { share, interval } = shareOf(hits, trials);
        const wider = shareOf(hits, trials).interval;
        const narrower = shareOf(10 * hits, 10 * trials).interval;
        assertWithin(share, interval[0] - 1e-12, interval[1] + 1e-12);
        assertAtLeast(interval[0], 0);
        assertAtMost(interval[1], 1);
        assertBelow(narrower[1] - narrower[0], wider[1] - wider[0]);
      }),
    );
  });

  it("has Bonett and Price's interval of a paired difference, which two trials never make certain", () => {
    // n = 10, 3 gained, 1 lost: p = 4/12 and 2/12, variance (6/12 - (2/12)^2) / 12.
    const { share, interval } = pairedDifference(3, 1, 10);
    assertClose(share, 0.2, 1e-12);
    assertClose(interval[0], 1 / 6 - 1.959964 * Math.sqrt((0.5 - 1 / 36) / 12), 1e-6);
    assertClose(interval[1], 1 / 6 + 1.959964 * Math.sqrt((0.5 - 1 / 36) / 12), 1e-6);
    assertAbove(pairedDifference(0, 2, 2).interval[1], 0);
    assertBelow(pairedDifference(0, 40, 40).interval[1], 0);
    assert.deepEqual(pairedDifference(1, 3, 10).interval, [-interval[1], -interval[0]]);
  });

  it("bootstraps a mean, the same one every time", () => {
    const values = [0, 0.25, 0.5, 0.75, 1, 1, 1, 1];
    const { share, interval } = meanOf(values);
    assert.equal(share, 0.6875);
    assertWithin(interval[0], 0.3, 0.6);
    assertWithin(interval[1], 0.8, 1);
    assert.deepEqual(meanOf(values), { share, interval });
  });
});

describe("eval: a mean of equal grades", () => {
  it("has the interval of a share of the same size, which more grades make narrower", () => {
    assert.deepEqual(meanOf([1, 1, 1, 1]), shareOf(4, 4));
    assert.deepEqual(meanOf([0.5, 0.5]), shareOf(1, 2));
    const widthOf = (count: number): number => {
      const [low, high] = meanOf(Array.from({ length: count }, () => 0.25)).interval;
      return high - low;
    };
    assertAbove(widthOf(4), widthOf(40));
    assertAbove(widthOf(4), 0.5);
  });
});

describe("eval: marks", () => {
  it("are right, wrong or hung, by canonical answers", () => {
    assert.deepEqual(markOf(terms, "63", "063"), { status: "right", grade: 1 });
    assert.deepEqual(markOf(terms, "63", "53"), { status: "wrong", grade: 0 });
    assert.deepEqual(markOf(terms, "63", null), { status: "hung", grade: 0 });
  });

  it("grade policies by the share that both name of all that either names", () => {
    const policies = { ...terms, ...formOf("policies A-E") };
    assert.deepEqual(markOf(policies, "A,B,C", "C,A,B"), { status: "right", grade: 1 });
    assert.deepEqual(markOf(policies, "A,B,C", "B,C,D"), { status: "wrong", grade: 0.5 });
    assert.equal(markOf(policies, "A", "B").grade, 0);
  });
});

describe("eval: a plain vote", () => {
  it("takes the most frequent answer, of equals the first one; a reply that is no answer has no vote", () => {
    assert.equal(plainVote(terms, ["53", "63", "nonsense", "63"]).answer, "63");
    assert.equal(plainVote(terms, ["53", "63", "63", "53"]).answer, "53");
    assert.equal(plainVote(terms, ["", "x"]).status, "hung");
  });
});

describe("eval: a poisoned source", () => {
  const text = "Policy: (1) refunds within 30 days; (2) item unused. Claim: day 12, unused. Is the refund due?";
  const proof = "c1 12 max 30 ok; c2 unused ok";
  const read = poisoned(text, "yes", proof) as string;

  it("states another limit in one rule, so that the other answer follows", () => {
    assert.equal(read, text.replace("30", "8"));
    const late = "Policy: 1. item unused; 2. at least 2 items. Facts: unused, 1 items. Is it due?";
    assert.equal(poisoned(late, "no", "c1 unused ok; c2 1 min 2 fails"), null);
    assert.equal(
      poisoned(late.replace("1 items", "10 items"), "yes", "c1 unused ok; c2 10 min 2 ok"),
      "Policy: 1. item unused; 2. at least 13 items. Facts: unused, 10 items. Is it due?",
    );
  });

  it("skips what it cannot turn: words only, or a rule after which others may fail", () => {
    assert.equal(poisoned("Cover: 1) paid. Case: paid. Is it covered?", "yes", "c1 paid ok"), null);
    assert.equal(poisoned(text.replace("day 12", "day 40"), "no", "c1 40 max 30 fails"), null);
  });
});

const heldOutPath = new URL("../../models/held-out.json", import.meta.url);

describe("eval: questions", () => {
  it("are of every suite, each once, drawn by the seed; the first of more are those of fewer", () => {
    for (const suite of SUITE_NAMES) {
      const drawn = questionsOf(suite, 30, 1);
      assert.equal(new Set(drawn.map(({ text }) => text)).size, 30, suite);
      assert.deepEqual(questionsOf(suite, 3, 1), drawn.slice(0, 3));
      assert.notDeepEqual(questionsOf(suite, 3, 2), drawn.slice(0, 3));
      for (const { form, text, truth, lie } of drawn) {
        const { request } = attemptFor({ ...question, form, text }, 0, 4, "normal");
        const asked = request.terms;
        assert.equal(agrees(asked, truth, truth), true, `${suite}: ${truth}`);
        assert.equal(agrees(asked, truth, lie.answer), false, `${suite}: ${truth} and ${lie.answer}`);
        assert.notEqual(canonicalAnswer(request, lie.answer), null, lie.answer);
        assert.notEqual(lie.proof, "");
      }
    }
  });

  it("are of the test split, by the rule of models/questions.py", () => {
    const rows = JSON.parse(readFileSync(heldOutPath, "utf8")) as readonly { readonly question: string }[];
    for (const { question: text } of rows) assert.equal(isTest(text), true, text);
    for (const suite of SUITE_NAMES) for (const { text } of questionsOf(suite, 20, 3)) assert.equal(isTest(text), true);
    assert.equal(isTest("What is 1 + 1?"), false);
  });

  it("of arithmetic have the answer that their numbers give", () => {
    const inDigits = questionsOf("arithmetic", 200, 1).filter(({ text }) => /\d.*\d/.test(text));
    assertAbove(inDigits.length, 80);
    for (const { text, truth } of inDigits) {
      const [a = 0, b = 0] = [...text.matchAll(/\d+/g)].map(Number);
      const isSum = /plus|\+|Add|sum of|together|in all|more|total|votes/.test(text);
      const expected = isSum ? a + b : /Take/.test(text) ? b - a : a - b;
      assert.equal(truth, String(expected), text);
    }
  });

  it("of policies have the set that keeps the limit", () => {
    for (const { text, truth } of questionsOf("policies", 100, 1)) {
      const [limit = 0, ...values] = [...text.matchAll(/\d+/g)].map(Number);
      const keeps = (value: number): boolean => (/At least/.test(text) ? value >= limit : value <= limit);
      const letters = "ABCDE".split("").filter((_, index) => index < values.length && keeps(values[index] as number));
      assert.equal(truth, letters.join(","), text);
    }
  });

  it("of wason have the card that could break the rule", () => {
    for (const { text, truth } of questionsOf("wason", 100, 1)) {
      const digit = / (even|odd)/.exec(text)?.[1];
      const options = [...text.matchAll(/(\w+) \(([A-C])\)/g)];
      const breaking = options.filter(
        ([, face = ""]) => /^\d+$/.test(face) && (Number(face) % 2 === 0) !== (digit === "even"),
      );
      assert.deepEqual(
        breaking.map(([, , letter]) => letter),
        [truth],
        text,
      );
    }
  });

  it("of policy and look-up have an answer that their rules give", () => {
    const bounds: readonly (readonly [words: RegExp, holds: (fact: number, limit: number) => boolean])[] = [
      [/at least|or more|\bover\b/, (fact, limit) => fact >= limit],
      [/within|up to|max|at most/, (fact, limit) => fact <= limit],
    ];
    const two = [...questionsOf("policy", 150, 1), ...questionsOf("lookup", 60, 1)];
    let checked = 0;
    for (const { text, truth, poisoned: read } of two)
      for (const [told, expected] of [
        [text, truth],
        [read ?? text, read === undefined ? truth : truth === "yes" ? "no" : "yes"],
      ] as const) {
        // One rule with a number, and one fact with one: which belongs to which is plain.
        const [rules = "", facts = ""] = told.split(/\. (?:Claim|Case|Facts): /);
        const limits = [...rules.replaceAll(/\(?\d[).] ?/g, "").matchAll(/\d+/g)].map(Number);
        const values = [...facts.matchAll(/\d+/g)].map(Number);
        if (limits.length !== 1 || values.length !== 1) continue;
        const keeps = bounds.find(([words]) => words.test(rules))?.[1](values[0] as number, limits[0] as number);
        const flags = facts.match(/\b(?:used|no receipt|no police report|unpaid|not approved|open debt|not signed)\b/);
        assert.equal(expected, keeps === true && flags === null ? "yes" : "no", told);
        checked += 1;
      }
    assertAbove(checked, 80);
  });
});

describe("eval: options", () => {
  it("read numbers of bad seats up to f", () => {
    assert.deepEqual(byzantineOf("0..f", 2), [0, 1, 2]);
    assert.deepEqual(byzantineOf("f,0", 2), [0, 2]);
    assert.deepEqual(byzantineOf("1", 2), [1]);
    for (const text of ["3", "2..1", "x", "", "0..1..2", "-1"]) assert.throws(() => byzantineOf(text, 2), text);
  });

  it("name a file that cannot be used before they ask for the suite", () => {
    assert.throws(() => optionsFrom(["--models", "/nope"]), /--models "\/nope": \/nope cannot be used/);
    assert.throws(() => optionsFrom([]), /required option '--suite <list>' not specified/);
  });
});
