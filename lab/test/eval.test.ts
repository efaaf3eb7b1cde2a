import assert from "node:assert/strict";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { grounded } from "../../agents/core/sources/named.ts";
import { attemptFor } from "../eval/attempt.ts";
import { markOf } from "../eval/mark.ts";
import { byzantineOf, optionsFrom } from "../eval/options.ts";
import { poisoned } from "../eval/poison.ts";
import { cellsOf, conditionText, type Grid } from "../eval/conditions.ts";
import { skillOf } from "../eval/lessons.ts";
import { METHODS } from "../eval/methods.ts";
import { formOf, isTest, questionsOf } from "../eval/question.ts";
import { HARD_SUITES, SUITE_NAMES, type Suite } from "../eval/suites.ts";
import { solutionsOf } from "../eval/solver.ts";
import {
  correlationOf,
  effectiveVotes,
  holm,
  meanOf,
  pairedDifference,
  pAtMost,
  pNoDifference,
  shareOf,
  type Pairs,
  type Share,
} from "../eval/statistics.ts";
import { plainVote } from "../eval/vote.ts";
import {
  assertAbove,
  assertAtLeast,
  assertAtMost,
  assertBelow,
  assertClose,
  assertWithin,
} from "../../test/support/assertions.ts";
import { PLAIN, asked } from "./support/evaluation.ts";

const [question] = questionsOf("arithmetic", 1, 1) as [ReturnType<typeof questionsOf>[number]];
const { terms } = attemptFor(question, 0, 4, "normal").request;

const pairsOf = (gained: number, lost: number, trials: number): Pairs => ({ gained, lost, trials });
const differenceOf = (gained: number, lost: number, trials: number): Share =>
  pairedDifference(pairsOf(gained, lost, trials));

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
    const { share, interval } = differenceOf(3, 1, 10);
    assertClose(share, 0.2, 1e-12);
    assertClose(interval[0], 1 / 6 - 1.959964 * Math.sqrt((0.5 - 1 / 36) / 12), 1e-6);
    assertClose(interval[1], 1 / 6 + 1.959964 * Math.sqrt((0.5 - 1 / 36) / 12), 1e-6);
    assertAbove(differenceOf(0, 2, 2).interval[1], 0);
    assertBelow(differenceOf(0, 40, 40).interval[1], 0);
    assert.deepEqual(differenceOf(1, 3, 10).interval, [-interval[1], -interval[0]]);
  });

  it("has p values of the same approximation as the interval, against any margin", () => {
    fc.assert(
      fc.property(fc.nat(60), fc.nat(60), fc.nat(200), (gained, lost, others) => {
        const pairs = pairsOf(gained, lost, gained + lost + others + 1);
        const [low, high] = pairedDifference(pairs).interval;
        // At the ends of the 95 % interval each side is 2.5 %, unless an end is cut off.
        if (low > -1) assertClose(pAtMost(low, pairs), 0.025, 1e-6);
        if (high < 1) assertClose(pAtMost(high, pairs), 0.975, 1e-6);
        assert.equal(pNoDifference(pairs) < 0.05 - 1e-6, low > 1e-7 || high < -1e-7);
        assertAtMost(pAtMost(-0.05, pairs), pAtMost(0.03, pairs));
      }),
    );
    // 1,900 questions, 100 discordant: a difference of 0 is within a point, one of 2 points is not.
    assertBelow(pAtMost(-0.01, pairsOf(50, 50, 1900)), 0.05);
    assertAbove(pAtMost(-0.01, pairsOf(31, 69, 1900)), 0.5);
  });

  it("adjusts p values by Holm's steps", () => {
    // Example of the R documentation's p.adjust, method holm.
    assert.deepEqual(holm([0.01, 0.02, 0.03, 0.04, 0.05]), [0.05, 0.08, 0.09, 0.09, 0.09]);
    assert.deepEqual(holm([0.6, 0.008, 0.2]), [0.6, 0.024, 0.4]);
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 20 }), (values) => {
        const adjusted = holm(values);
        for (const [index, value] of values.entries()) {
          assertWithin(adjusted[index], value, Math.min(1, values.length * value) + 1e-12);
          for (const [other, smaller] of values.entries())
            if (smaller <= value) assertAtMost(adjusted[other], adjusted[index] as number);
        }
      }),
    );
  });

  it("tells how many independent votes seats are worth that err together", () => {
    const independent = [true, false].flatMap((a) => [true, false].map((b) => [a, b]));
    assertClose(correlationOf(independent) as number, 0, 1e-12);
    const alike = [
      [true, true, true],
      [false, false, false],
    ];
    assertClose(correlationOf(alike) as number, 1, 1e-12);
    assert.equal(correlationOf([[true, true]]), null);
    assert.equal(effectiveVotes(9, 0), 9);
    assert.equal(effectiveVotes(9, 1), 1);
    assertClose(effectiveVotes(9, 0.4375), 2, 1e-12);
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
    assert.deepEqual(markOf(asked, "63", "063"), { status: "right", grade: 1 });
    assert.deepEqual(markOf(asked, "63", "53"), { status: "wrong", grade: 0 });
    assert.deepEqual(markOf(asked, "63", null), { status: "hung", grade: 0 });
  });

  it("grade policies by the share that both name of all that either names", () => {
    const policies = { ...terms, ...formOf("policies A-E") };
    assert.deepEqual(markOf({ ...asked, terms: policies }, "A,B,C", "C,A,B"), { status: "right", grade: 1 });
    assert.deepEqual(markOf({ ...asked, terms: policies }, "A,B,C", "B,C,D"), { status: "wrong", grade: 0.5 });
    assert.equal(markOf({ ...asked, terms: policies }, "A", "B").grade, 0);
  });
});

describe("eval: a plain vote", () => {
  it("takes the most frequent answer; a reply that is no answer has no vote", () => {
    assert.equal(plainVote(asked, ["53", "63", "nonsense", "63"], "").answer, "63");
    assert.equal(plainVote(asked, ["", "x"], "").status, "hung");
  });

  it("breaks ties at random, and on the same question alike", () => {
    const drawn = (order: readonly string[], number: number): string | null =>
      plainVote(asked, order, `question ${number}`).answer;
    const all = Array.from({ length: 400 }, (_, number) => drawn(["53", "63", "63", "53", "7"], number));
    assertWithin(all.filter((answer) => answer === "53").length, 150, 250);
    assert.equal(all.includes("7"), false);
    assert.deepEqual(
      all,
      all.map((_, number) => drawn(["53", "63", "63", "53", "7"], number)),
    );
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
        const { request } = grounded(attemptFor({ ...question, form, text }, 0, 4, "normal"));
        assert.equal(markOf(request, truth, truth).status, "right", `${suite}: ${truth}`);
        assert.equal(markOf(request, truth, lie.answer).status, "wrong", `${suite}: ${truth} and ${lie.answer}`);
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

  it("are proven by the solver to have one answer, and it is neither the lie's nor a poisoned source's", () => {
    for (const suite of SUITE_NAMES)
      for (const { text, form, truth, lie, poisoned: read, pages } of questionsOf(suite, 60, 4)) {
        assert.deepEqual(solutionsOf(suite, text, form, pages?.right), [truth], text);
        assert.notEqual(lie.answer, truth);
        if (read !== undefined)
          assert.deepEqual(solutionsOf(suite, read, form), [truth === "yes" ? "no" : "yes"], read);
        if (pages !== undefined) {
          const [fooled, ...more] = solutionsOf(suite, text, form, pages.poisoned);
          assert.deepEqual(more, []);
          assert.equal(fooled, lie.answer, text);
        }
      }
  });

  it("have an answer that follows from their numbers: another number changes what the solver finds", () => {
    for (const suite of HARD_SUITES) {
      const changed = questionsOf(suite, 40, 5).filter(({ text, form, truth }) =>
        [...text.matchAll(/\d+/g)].some(({ 0: number, index }) => {
          const other = `${text.slice(0, index)}${Number(number) + 1_000}${text.slice(index + number.length)}`;
          return solutionsOf(suite, other, form).join() !== truth;
        }),
      );
      assertAbove(changed.length, 35, suite);
    }
  });
});

describe("eval: the solver", () => {
  const solve = (suite: Suite, kind: string, text: string): readonly string[] => solutionsOf(suite, text, formOf(kind));

  it("reads rules with shuffled facts, and finds the one that is broken", () => {
    const rules = "2 rules: (1) hotel up to 90 EUR; (2) meals up to 30 EUR. Case: meals 31 EUR, hotel 90 EUR.";
    assert.deepEqual(solve("rules", "boolean", `${rules} Is it?`), ["no"]);
    assert.deepEqual(solve("rules", "boolean", `${rules.replace("31", "30")} Is it?`), ["yes"]);
    assert.deepEqual(solve("replies", "text", `${rules} What is the reply?`), [
      "Not allowed: meals 31 EUR is more than 30.",
    ]);
    const lettered = rules.replace("(1)", "(A)").replace("(2)", "(B)");
    assert.deepEqual(solve("clauses", "choice A-B", `${lettered} Which clause fails?`), ["B"]);
  });

  it("keeps every answer of a question that has several, and none of one that it cannot read", () => {
    assert.deepEqual(solve("offers", "choice A-C", "Which offer is cheapest? A) 5 B) 5 C) 7"), []);
    const twice = "R: A) hotel up to 9 EUR; B) meals up to 3 EUR. Case: hotel 10 EUR, meals 4 EUR. Which clause fails?";
    assert.deepEqual(solve("clauses", "choice A-B", twice), ["A", "B"]);
    assert.deepEqual(solve("rules", "boolean", "Is it?"), []);
  });

  it("adds, subtracts, picks, and turns cards", () => {
    assert.deepEqual(solve("arithmetic", "number 0", "Take twenty-five from 63. What is left?"), ["38"]);
    assert.deepEqual(
      solve("selections", "policies A-C", "Deadline: 9 days. Options: (A) 9 days (B) 10 days (C) 2 days. Which fit?"),
      ["A,C"],
    );
    assert.deepEqual(solve("offers", "choice A-C", "Options: A: day 7, B: day 12, C: day 3. Which day is latest?"), [
      "B",
    ]);
    const cards =
      "Cards: E, 7, K, 4. Rule: if vowel then even. E is turned. Which other card to turn? K (A), 7 (B), 4 (C)";
    assert.deepEqual(solve("wason", "choice A-C", cards), ["B"]);
  });
});

describe("eval: conditions", () => {
  const method = (id: string): Grid["methods"][number] =>
    METHODS.find((one) => one.id === id) as Grid["methods"][number];
  const grid: Grid = {
    mixes: ["heterogeneous"],
    seats: [4, 7],
    seatings: ["sampled", "greedy"],
    assurances: ["normal", "high"],
    liars: ["caught", "trusted"],
    byzantine: [0, "f"],
    methods: [method("mbft"), method("council")],
    leading: [method("mbft")],
    recommended: method("mbft"),
    thinning: 4,
  };
  const of = (id: string): readonly string[] =>
    cellsOf(grid, ["rules"])
      .filter((cell) => cell.method.id === id)
      .map(({ condition }) => conditionText(condition));

  it("try every method in the plain condition, and leading ones in those that differ from it in one way beside size", () => {
    assert.deepEqual(of("council"), ["n = 4, nobody bad", "n = 4, 1 caught liar"]);
    assert.deepEqual(of("mbft").toSorted(), [
      "n = 4, 1 caught liar",
      "n = 4, 1 caught liar, greedy",
      "n = 4, 1 caught liar, high assurance",
      "n = 4, 1 trusted liar",
      "n = 4, nobody bad",
      "n = 4, nobody bad, greedy",
      "n = 4, nobody bad, high assurance",
      "n = 7, 2 caught liars",
      "n = 7, 2 caught liars, high assurance",
      "n = 7, 2 trusted liars",
      "n = 7, nobody bad",
      "n = 7, nobody bad, high assurance",
    ]);
  });

  it("give the recommended method every question in the first seating, and one in so many to all else", () => {
    const cells = cellsOf(grid, ["rules"]);
    const whole = cells.filter(({ every }) => every === 1);
    assert.equal(
      whole.every(({ method: { id }, condition: { seating } }) => id === "mbft" && seating === "sampled"),
      true,
    );
    assert.equal(whole.length, 10);
    assert.deepEqual(new Set(cells.map(({ every }) => every)), new Set([1, 4]));
  });

  it("give seats the skill that clo's counters would", () => {
    assert.deepEqual([skillOf(0, 0), skillOf(10, 60), skillOf(40, 60), skillOf(55, 60)], [2, 1, 2, 3]);
  });

  it("name themselves apart", () => {
    const names = cellsOf(grid, ["rules"]).map(({ condition, method: { id } }) => `${id} ${conditionText(condition)}`);
    assert.equal(new Set(names).size, names.length);
    assert.equal(conditionText(PLAIN), "n = 4, nobody bad, one model");
  });
});

describe("eval: options", () => {
  it("read numbers of bad seats up to f", () => {
    assert.deepEqual(byzantineOf("0..f", 7), [0, 1, "f"]);
    assert.deepEqual(byzantineOf("f,0", 7), [0, "f"]);
    assert.deepEqual(byzantineOf("1", 7), [1]);
    for (const text of ["3", "2..1", "x", "", "0..1..2", "-1"]) assert.throws(() => byzantineOf(text, 7), text);
  });

  it("take all conditions with --quick and --full, unless a flag names fewer", () => {
    const { seats, seatings, liars, assurances, limitSeconds } = optionsFrom(["--suite", "hard", "--full"]);
    assert.deepEqual(
      [seats, seatings, liars, assurances],
      [
        [4, 7, 13],
        ["sampled", "greedy", "calibrated"],
        ["caught", "trusted"],
        ["normal", "high"],
      ],
    );
    assertBelow(limitSeconds ?? 0, 6 * 3600);
    const fewer = optionsFrom(["--suite", "rules,taught", "--quick", "--seats", "7", "--liars", "trusted"]);
    assert.deepEqual([fewer.seats, fewer.liars, fewer.suites.length], [[7], ["trusted"], 7]);
  });

  it("name a file that cannot be used before they ask for the suite", () => {
    assert.throws(() => optionsFrom(["--models", "/nope"]), /--models "\/nope": \/nope cannot be used/);
    assert.throws(() => optionsFrom([]), /required option '--suite <list>' not specified/);
  });
});
