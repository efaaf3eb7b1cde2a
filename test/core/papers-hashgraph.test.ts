import { expect } from "chai";
import { describe, it } from "node:test";
import { attemptFor } from "../../scripts/lib/eval/attempt.ts";
import { factsOf, pooledFacts } from "../../scripts/lib/papers/facts.ts";
import { rescueClaims, robustnessClaim, type Course, type Robust } from "../../scripts/lib/papers/hashgraph-claims.ts";
import { sharesText, type Claim } from "../../scripts/lib/papers/study.ts";

const QUESTION = {
  suite: "policies",
  text: "Which?",
  form: { kind: "policies", options: 4, decimals: 0 },
  truth: "A,B,C",
  lie: { answer: "D", proof: "" },
} as const;
const { terms } = attemptFor(QUESTION, 6, 4, "normal").request;

describe("facts that a decision keeps", () => {
  it("are right policies that somebody named; wrong ones are counted apart", () => {
    // A and B were named, C by nobody; of the first answers one has a wrong policy.
    expect(factsOf(terms, ["A", "A,B", "B,D", "nonsense"], "B,D", "A,B,C")).to.deep.equal({
      isDecided: true,
      named: 2,
      kept: 1,
      falsePerFirst: 0.25,
      falseKept: 1,
    });
    expect(factsOf(terms, ["A"], null, "A,B,C")).to.include({ isDecided: false, named: 1, kept: 0, falseKept: 0 });
  });

  it("are pooled over questions: hung ones keep nothing and have no false ones", () => {
    const kept = { isDecided: true, named: 3, kept: 2, falsePerFirst: 1, falseKept: 1 };
    const hung = { isDecided: false, named: 2, kept: 0, falsePerFirst: 0, falseKept: 0 };
    expect(pooledFacts([kept, hung])).to.deep.equal({
      questions: 2,
      decided: 1,
      named: 5,
      namedWhereDecided: 3,
      kept: 2,
      falsePerFirst: 0.5,
      falsePerDecision: 1,
    });
  });
});

function course(change: Partial<Course> = {}): Course {
  return {
    suite: "policy",
    firsts: 4,
    firstsRight: 4,
    isUnanimous: true,
    voteIsRight: true,
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
    expect(verdict(course(), rescued)).to.equal("yes");
    expect(verdict(course(), rescued, rescued, lost)).to.equal("in part");
    expect(verdict(course(), rescued, lost)).to.equal("no");
    // Nobody knew it: nothing was to be rescued.
    expect(verdict(course(), course({ firstsRight: 0, voteIsRight: false, status: "wrong" }))).to.equal("yes");
  });

  it("better than a plain vote, and than one answer, by the shares of all questions", () => {
    const claims = rescueClaims([course(), rescued, lost]);
    expect(claimOf(claims, "most models gave")).to.include({ agrees: "no" });
    expect(claimOf(claims, "most models gave").here).to.equal(
      "decided right 66.7 %, a plain vote of the same first answers 66.7 %: 1 rescued, 1 lost",
    );
    // (4/4 + 1/4 + 3/4) / 3 of the first answers are right.
    expect(claimOf(claims, "best model").here).to.equal("decided right 66.7 %, one first answer is right in 66.7 %");
    expect(claimOf(claims, "one or two rounds")).to.include({ agrees: "no" });
    expect(claimOf(claims, "agree at once").here).to.equal("1 of 1 unanimous first rounds are right");
  });

  it("a third of adversaries: all right up to f, and not beyond", () => {
    const point = (bad: number, ...statuses: Robust["statuses"]): Robust => ({ models: "perfect", bad, statuses });
    const good = [0, 1, 2].map((bad) => point(bad, "right", "right"));
    const broken = robustnessClaim([...good, point(3, "right", "hung"), point(4, "wrong", "hung")], 7);
    expect(broken.agrees).to.equal("yes");
    expect(broken.here).to.match(/always right up to 2 of 7 bad seats, first not always right at 3, first wrong at 4$/);
    expect(
      robustnessClaim([...good.slice(0, 2), point(2, "hung", "right"), point(3, "hung", "hung")], 7).agrees,
    ).to.equal("no");
    expect(robustnessClaim([...good, point(3, "right", "right")], 7).agrees).to.equal("no");
  });

  it("who ends without a certificate is hung", () => {
    expect(sharesText(["right", "none", "hung", "wrong"])).to.equal("25.0 / 50.0 / 25.0");
  });
});
