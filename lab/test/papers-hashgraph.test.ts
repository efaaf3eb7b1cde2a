import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { attemptFor } from "../eval/attempt.ts";
import { factsOf, pooledFacts, type Facts } from "../papers/facts.ts";
import { rescueClaims, robustnessClaim, type Course, type Robust } from "../papers/hashgraph-claims.ts";
import { sharesText, type Claim } from "../papers/study.ts";
import { assertFields } from "../../test/support/assertions.ts";

const QUESTION = {
  suite: "policies",
  text: "Which?",
  form: { kind: "policies", options: 4, decimals: 0 },
  truth: "A,B,C",
  lie: { answer: "D", proof: "" },
} as const;
const { terms } = attemptFor(QUESTION, 6, 4, "normal").request;

describe("facts that a decision keeps", () => {
  it("are right policies that some member named; wrong ones are counted apart", () => {
    // A and B were named, C by nobody; of the first answers one has a wrong policy, the greedy one has two.
    const firsts = ["A", "A,B", "B,D", "nonsense"];
    assert.deepEqual(factsOf(terms, { firsts, greedy: "A,D", answer: "B,D" }, "A,B,C"), {
      isDecided: true,
      named: 2,
      kept: 1,
      falsePerFirst: 0.25,
      falseGreedy: 1,
      falseKept: 1,
    });
    const hung = factsOf(terms, { firsts: ["A"], greedy: "", answer: null }, "A,B,C");
    assertFields(hung, { isDecided: false, named: 1, kept: 0, falseGreedy: 0, falseKept: 0 });
  });

  const kept = { isDecided: true, named: 3, kept: 2, falsePerFirst: 1, falseGreedy: 0.5, falseKept: 1 };
  const hung = { isDecided: false, named: 2, kept: 0, falsePerFirst: 3, falseGreedy: 2, falseKept: 0 };

  it("are pooled over questions; false ones are compared on decided questions", () => {
    assert.deepEqual(pooledFacts([kept, hung]), {
      questions: 2,
      decided: 1,
      named: 5,
      namedWhereDecided: 3,
      kept: 2,
      falseWhereDecided: { perFirst: 1, perGreedy: 0.5, perDecision: 1 },
    });
    // A missing decision differs from a decision without false ones.
    assert.equal(pooledFacts([hung]).falseWhereDecided, null);
  });

  it("fewer false statements: yes if they are near zero, in part if they are fewer, no if they are not; not redone if nothing is decided", () => {
    const claim = (...facts: readonly Facts[]): Claim =>
      claimOf(rescueClaims(facts.map((one) => course({ suite: "policies", facts: one }))), "false statements");
    const none = { ...kept, falseKept: 0 };
    assertFields(claim(none, hung), {
      agrees: "yes",
      here: "0.00 wrong policies per decision, on the same 1 of 2 questions 1.00 per first answer and 0.50 per greedy call",
    });
    assert.equal(claim({ ...kept, falseKept: 0.5 }).agrees, "in part");
    assert.equal(claim(kept).agrees, "no");
    assert.equal(claim({ ...kept, falseKept: 2 }).agrees, "no");
    assertFields(claim(hung), { agrees: "not redone", here: "none of 1 questions is decided" });
    // If nobody says anything wrong, there is nothing to lower.
    assert.equal(claim({ ...none, falsePerFirst: 0 }).agrees, "not redone");
    assert.equal(claim({ ...kept, falsePerFirst: 0 }).agrees, "no");
    // Near zero, but a single greedy call is nearer.
    const rare = Array.from({ length: 39 }, () => ({ ...none, falseGreedy: 0 }));
    assert.equal(claim(...rare, { ...kept, falseGreedy: 0 }).agrees, "in part");
  });
});

function course(change: Partial<Course> = {}): Course {
  return {
    suite: "policy",
    firsts: 4,
    firstsRight: 4,
    isUnanimous: true,
    voteIsRight: true,
    greedyIsRight: true,
    status: "right",
    rounds: 2,
    path: "agreement",
    changed: 0,
    oscillating: 0,
    facts: null,
    ...change,
  };
}

function claimOf(claims: readonly Claim[], words: string): Claim {
  return claims.find(({ paper }) => paper.includes(words)) as Claim;
}

describe("what the hashgraph paper expects", () => {
  const rescued = course({ firstsRight: 1, isUnanimous: false, voteIsRight: false, rounds: 3 });
  const lost = course({ firstsRight: 3, isUnanimous: false, status: "hung", rounds: 4, path: "none" });

  it("one right answer is enough: yes if always, in part if more are rescued than lost, else no", () => {
    const verdict = (...courses: readonly Course[]): string => claimOf(rescueClaims(courses), "ideally").agrees;
    assert.equal(verdict(course(), rescued), "yes");
    assert.equal(verdict(course(), rescued, rescued, lost), "in part");
    assert.equal(verdict(course(), rescued, lost), "no");
    // No seat knew it: there was nothing to rescue.
    assert.equal(verdict(course(), course({ firstsRight: 0, voteIsRight: false, status: "wrong" })), "yes");
  });

  it("better than a plain vote, and than one answer, by the shares of all questions", () => {
    const claims = rescueClaims([course(), rescued, lost]);
    assertFields(claimOf(claims, "most models gave"), { agrees: "no" });
    assert.equal(
      claimOf(claims, "most models gave").here,
      "decided right 66.7 %, a plain vote of the same first answers 66.7 %: 1 rescued, 1 lost",
    );
    // (4/4 + 1/4 + 3/4) / 3 of the first answers are right.
    assert.equal(
      claimOf(claims, "best model").here,
      "decided right 66.7 %; of the same questions one first answer is right in 66.7 %, one greedy call of the same model in 100.0 %",
    );
    assert.equal(claimOf(claims, "best model").agrees, "no");
    // As good as both the sampled model and the greedy one.
    const missed = [course(), rescued, { ...lost, greedyIsRight: false }];
    assert.equal(claimOf(rescueClaims(missed), "best model").agrees, "yes");
    assertFields(claimOf(claims, "one or two rounds"), { agrees: "no" });
    assert.equal(claimOf(claims, "agree at once").here, "1 of 1 unanimous first rounds are right");
  });

  it("a third of adversaries: all right up to f, and not beyond", () => {
    const point = (bad: number, ...statuses: Robust["statuses"]): Robust => {
      return { models: "perfect", bad, statuses, greedy: [] };
    };
    const good = [0, 1, 2].map((bad) => point(bad, "right", "right"));
    const broken = robustnessClaim([...good, point(3, "right", "hung"), point(4, "wrong", "hung")], 7);
    assert.equal(broken.agrees, "yes");
    assert.match(broken.here, /always right up to 2 of 7 bad seats, first not always right at 3, first wrong at 4$/);
    assert.equal(
      robustnessClaim([...good.slice(0, 2), point(2, "hung", "right"), point(3, "hung", "hung")], 7).agrees,
      "no",
    );
    assert.equal(robustnessClaim([...good, point(3, "right", "right")], 7).agrees, "no");
  });

  it("a third of adversaries: in part where beyond it nothing goes wrong but hangs", () => {
    const points = [0, 1, 2, 3].map((bad): Robust => {
      return { models: "perfect", bad, statuses: [bad > 2 ? "hung" : "right"], greedy: [] };
    });
    assert.equal(robustnessClaim(points, 7).agrees, "in part");
  });

  it("no right answer at first: neither rescue nor recall can be judged", () => {
    const facts = { isDecided: true, named: 0, kept: 0, falsePerFirst: 1, falseGreedy: 1, falseKept: 1 };
    const claims = rescueClaims([course({ firstsRight: 0, voteIsRight: false, status: "wrong", facts })]);
    assert.equal(claimOf(claims, "ideally").agrees, "not redone");
    assert.equal(claimOf(claims, "high recall").agrees, "not redone");
  });

  it("oscillation: no if none, yes if some did not end in an agreement, else in part", () => {
    const swung = course({ oscillating: 2 });
    const verdict = (...courses: readonly Course[]): Claim => claimOf(rescueClaims(courses), "oscillation");
    assertFields(verdict(course(), course({ path: "vote" })), {
      agrees: "no",
      here: "in 0 of 2 questions a seat went back and forth; 0 of them ended without an agreement of more than 2/3",
    });
    assert.equal(verdict(course(), swung).agrees, "in part");
    assert.equal(verdict(swung, { ...swung, path: "plurality" }).agrees, "yes");
    assert.equal(verdict({ ...swung, path: "none" }).agrees, "yes");
  });

  it("a seat without a certificate is hung", () => {
    assert.equal(sharesText(["right", "none", "hung", "wrong"]), "25.0 / 50.0 / 25.0");
  });
});
