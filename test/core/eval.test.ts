import { expect } from "chai";
import fc from "fast-check";
import { describe, it } from "node:test";
import { agrees } from "../../agents/sim/plan.ts";
import { attemptFor } from "../../scripts/lib/eval/attempt.ts";
import { markOf } from "../../scripts/lib/eval/evaluate.ts";
import { byzantineOf } from "../../scripts/lib/eval/options.ts";
import { poisoned } from "../../scripts/lib/eval/poison.ts";
import { formOf, questionsOf, SUITE_NAMES } from "../../scripts/lib/eval/question.ts";
import { meanOf, pairedDifference, shareOf } from "../../scripts/lib/eval/statistics.ts";
import { plainVote } from "../../scripts/lib/eval/vote.ts";

const [question] = questionsOf("arithmetic", 1, 1) as [ReturnType<typeof questionsOf>[number]];
const { terms } = attemptFor(question, 0, 4, "normal").request;

describe("eval: statistics", () => {
  it("has Wilson's interval", () => {
    const { share, interval } = shareOf(8, 10);
    expect(share).to.equal(0.8);
    expect(interval[0]).to.be.closeTo(0.4902, 0.0001);
    expect(interval[1]).to.be.closeTo(0.9433, 0.0001);
    expect(shareOf(0, 2).interval[1]).to.be.closeTo(0.6576, 0.0001);
  });

  it("has shares within intervals that shrink with more trials", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.double({ min: 0, max: 1, noNaN: true }), (trials, part) => {
        const hits = Math.round(part * trials);
        const { share, interval } = shareOf(hits, trials);
        const wider = shareOf(hits, trials).interval;
        const narrower = shareOf(10 * hits, 10 * trials).interval;
        expect(share).to.be.within(interval[0] - 1e-12, interval[1] + 1e-12);
        expect(interval[0]).to.be.at.least(0);
        expect(interval[1]).to.be.at.most(1);
        expect(narrower[1] - narrower[0]).to.be.below(wider[1] - wider[0]);
      }),
    );
  });

  it("has Bonett and Price's interval of a paired difference, which two trials never make certain", () => {
    // n = 10, 3 gained, 1 lost: p = 4/12 and 2/12, variance (6/12 - (2/12)^2) / 12.
    const { share, interval } = pairedDifference(3, 1, 10);
    expect(share).to.be.closeTo(0.2, 1e-12);
    expect(interval[0]).to.be.closeTo(1 / 6 - 1.959964 * Math.sqrt((0.5 - 1 / 36) / 12), 1e-6);
    expect(interval[1]).to.be.closeTo(1 / 6 + 1.959964 * Math.sqrt((0.5 - 1 / 36) / 12), 1e-6);
    expect(pairedDifference(0, 2, 2).interval[1]).to.be.above(0);
    expect(pairedDifference(0, 40, 40).interval[1]).to.be.below(0);
    expect(pairedDifference(1, 3, 10).interval).to.deep.equal([-interval[1], -interval[0]]);
  });

  it("bootstraps a mean, the same one every time", () => {
    const values = [0, 0.25, 0.5, 0.75, 1, 1, 1, 1];
    const { share, interval } = meanOf(values);
    expect(share).to.equal(0.6875);
    expect(interval[0]).to.be.within(0.3, 0.6);
    expect(interval[1]).to.be.within(0.8, 1);
    expect(meanOf(values)).to.deep.equal({ share, interval });
    expect(meanOf([0.5, 0.5]).interval).to.deep.equal([0.5, 0.5]);
  });
});

describe("eval: marks", () => {
  it("are right, wrong or hung, by canonical answers", () => {
    expect(markOf(terms, "63", "063")).to.deep.equal({ status: "right", grade: 1 });
    expect(markOf(terms, "63", "53")).to.deep.equal({ status: "wrong", grade: 0 });
    expect(markOf(terms, "63", null)).to.deep.equal({ status: "hung", grade: 0 });
  });

  it("grade policies by what both name of all that either names", () => {
    const policies = { ...terms, ...formOf("policies A-E") };
    expect(markOf(policies, "A,B,C", "C,A,B")).to.deep.equal({ status: "right", grade: 1 });
    expect(markOf(policies, "A,B,C", "B,C,D")).to.deep.equal({ status: "wrong", grade: 0.5 });
    expect(markOf(policies, "A", "B").grade).to.equal(0);
  });
});

describe("eval: a plain vote", () => {
  it("takes the most frequent answer, of equals the one that came first; what is no answer has no vote", () => {
    expect(plainVote(terms, ["53", "63", "nonsense", "63"]).answer).to.equal("63");
    expect(plainVote(terms, ["53", "63", "63", "53"]).answer).to.equal("53");
    expect(plainVote(terms, ["", "x"]).status).to.equal("hung");
  });
});

describe("eval: a poisoned source", () => {
  const text = "Policy: (1) refunds within 30 days; (2) item unused. Claim: day 12, unused. Is the refund due?";
  const proof = "c1 12 max 30 ok; c2 unused ok";
  const read = poisoned(text, "yes", proof) as string;

  it("turns the answer by one limit of the rules", () => {
    expect(read).to.equal(text.replace("30", "8"));
    const late = "Policy: 1. item unused; 2. at least 2 items. Facts: unused, 1 items. Is it due?";
    expect(poisoned(late, "no", "c1 unused ok; c2 1 min 2 fails")).to.equal(null);
    expect(poisoned(late.replace("1 items", "10 items"), "yes", "c1 unused ok; c2 10 min 2 ok")).to.equal(
      "Policy: 1. item unused; 2. at least 13 items. Facts: unused, 10 items. Is it due?",
    );
  });

  it("leaves alone what it cannot turn: words only, or a rule after which others may fail", () => {
    expect(poisoned("Cover: 1) paid. Case: paid. Is it covered?", "yes", "c1 paid ok")).to.equal(null);
    expect(poisoned(text.replace("day 12", "day 40"), "no", "c1 40 max 30 fails")).to.equal(null);
  });
});

describe("eval: questions and options", () => {
  it("has held-out questions of every suite, the seed's own in the seed's order", () => {
    for (const suite of SUITE_NAMES) {
      const drawn = questionsOf(suite, 5, 1);
      expect(drawn.length, suite).to.equal(5);
      expect(questionsOf(suite, 3, 1)).to.deep.equal(drawn.slice(0, 3));
      expect(questionsOf(suite, 5, 2)).not.to.deep.equal(drawn);
      for (const { form, text, truth, lie } of drawn) {
        const asked = attemptFor({ ...question, form, text }, 0, 4, "normal").request.terms;
        expect(agrees(asked, truth, truth), `${suite}: ${truth}`).to.equal(true);
        expect(agrees(asked, truth, lie.answer), `${suite}: ${truth} and ${lie.answer}`).to.equal(false);
      }
    }
  });

  it("reads numbers of bad seats up to f", () => {
    expect(byzantineOf("0..f", 2)).to.deep.equal([0, 1, 2]);
    expect(byzantineOf("f,0", 2)).to.deep.equal([0, 2]);
    expect(byzantineOf("1", 2)).to.deep.equal([1]);
    for (const text of ["3", "2..1", "x", "", "0..1..2", "-1"]) expect(() => byzantineOf(text, 2), text).to.throw();
  });
});
