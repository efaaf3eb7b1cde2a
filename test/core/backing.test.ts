import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isBelow } from "../../agents/core/calibration.ts";
import { backingOf, decisionConfidence } from "../../agents/core/phases/backing.ts";
import { BACKING_STEPS } from "../../agents/core/phases/backing-steps.ts";
import { SAFE_RIGHT, SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { ONE_PPM } from "../../agents/core/types.ts";
import { assertAtLeast, assertBelow } from "../support/assertions.ts";

const share = fc.constantFrom(0, 1, SAFE_RIGHT / 2 - 1, SAFE_RIGHT / 2, SAFE_RIGHT, SURE_RIGHT - 1, SURE_RIGHT);
const shares = fc.array(share, { minLength: 4, maxLength: 31 });

describe("the confidence of a decision", () => {
  it("CF8: a sure right answer counts 2 points, an unsure one 1, of 2 for each seat", () => {
    assert.equal(backingOf([SURE_RIGHT, SURE_RIGHT, SURE_RIGHT, SURE_RIGHT]), ONE_PPM);
    assert.equal(backingOf([SURE_RIGHT, SAFE_RIGHT, 0, 0]), 375_000);
    assert.equal(backingOf([SURE_RIGHT, SURE_RIGHT, 0, 0, 0, 0, 0]), 285_714);
  });

  it("CF8: half of what a right answer below the top tier earns is enough, and less is not", () => {
    assert.equal(backingOf([SAFE_RIGHT / 2, 0, 0, 0]), 125_000);
    assert.equal(backingOf([SAFE_RIGHT / 2 - 1, 0, 0, 0]), 0);
    // The flat share of a text that nobody compared (PY6).
    assert.equal(backingOf([1, 1, 1, 1]), 0);
  });

  it("CF9: confidence never falls where the backing rises, and is neither 0 nor certainty", () => {
    fc.assert(
      fc.property(shares, fc.nat(), (all, place) => {
        const more = all.with(place % all.length, SURE_RIGHT);
        assertAtLeast(decisionConfidence(more), decisionConfidence(all));
        assertAtLeast(decisionConfidence(all), 1);
        assertBelow(decisionConfidence(more), ONE_PPM);
      }),
    );
  });

  it("CF9: the table's steps rise", () => {
    for (const [index, step] of BACKING_STEPS.entries()) {
      const before = BACKING_STEPS[index - 1];
      if (before === undefined) continue;
      assertBelow(before.from, step.from);
      assert.equal(isBelow(step, before), false);
    }
  });

  it("CF9: which seats back a decision does not matter", () => {
    fc.assert(
      fc.property(shares, (all) => assert.equal(decisionConfidence(all.toReversed()), decisionConfidence(all))),
    );
  });
});
