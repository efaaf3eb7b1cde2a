import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { matchForm } from "../../agents/core/phases/equivalence.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import type { Attempt } from "../../agents/core/types.ts";
import { propose, say } from "../support/message-set.ts";
import {
  HIGH,
  LOW,
  attemptFor,
  closed,
  concluded,
  lastOf,
  decision,
  outcomeOf,
  report,
  reports,
} from "../support/core/mbft-bayesian-set.ts";
import { assertAbove, assertAtMost, assertFields } from "../support/assertions.ts";

interface Report {
  readonly value: number | null;
  readonly tier: number;
}

describe("mbft-bayesian answers of every kind", () => {
  it("choice, number within tolerance, policies", () => {
    const choice = attemptFor(7, { kind: "choice", options: 4 });
    assert.equal(
      decision(
        outcomeOf(
          choice,
          reports(7, (seat) => report(seat < 2 ? "a" : "C")),
        ),
      ),
      "C",
    );
    const number = attemptFor(7, { kind: "number", decimals: 1, tolerance: 5n });
    const values = ["10.0", "10.1", "10.2", "10.3", "10.4", "99", "98"];
    assert.equal(
      decision(
        outcomeOf(
          number,
          reports(7, (seat) => report(values[seat]!)),
        ),
      ),
      "10.2",
    );
    const policies = attemptFor(7, { kind: "policies", options: 4 });
    assert.equal(
      decision(
        outcomeOf(
          policies,
          reports(7, (seat) => report(seat < 2 ? "A" : "A,C")),
        ),
      ),
      "A,C",
    );
  });

  it("BA10: a decided number is at most one tolerance from an honest one of its class, even if only liars said it", () => {
    const liars = [0, 1];
    const attempt = attemptFor(7, { kind: "number", tolerance: 10n });
    const values = ["90", "90", "100", "100", null, null, null];
    assert.equal(
      decision(
        outcomeOf(
          attempt,
          reports(7, (seat) => report(values[seat] as string | null)),
        ),
      ),
      "90",
    );
    // Liars are of one mind and sure of it; the honest agree, or differ and are unsure of it.
    const near = fc.record({ value: fc.integer({ min: 90, max: 110 }), tier: fc.constantFrom(LOW, HIGH) });
    const far = fc.record({ value: fc.option(fc.integer({ min: 0, max: 900 })), tier: fc.constant(LOW) });
    const five = { minLength: 5, maxLength: 5 };
    const honestly = fc.oneof(fc.array<Report>(near, five), fc.array<Report>(far, five));
    let decided = 0;
    fc.assert(
      fc.property(fc.integer({ min: 80, max: 120 }), honestly, (lie, honest) => {
        const given = [...liars.map(() => ({ value: lie, tier: HIGH })), ...honest];
        const outcome = outcomeOf(
          attempt,
          given.map(({ value, tier }) => report(value === null ? null : String(value), tier)),
        );
        if (outcome.status !== "decided") return;
        decided++;
        const distances = honest.map(({ value }) =>
          value === null ? 1_000 : Math.abs(value - Number(outcome.answer)),
        );
        assertAtMost(Math.min(...distances), 10);
      }),
      { numRuns: 200 },
    );
    assertAbove(decided, 5);
  });

  it("BA12: for texts, a report without comparisons earns nothing", () => {
    const attempt = attemptFor(4, { kind: "text" });
    const revealed = propose(
      emptyTally,
      attempt,
      0,
      attempt.committee.map(() => report("It was signed in 1648.")),
    );
    const comparing = (count: number) =>
      closed(
        say(
          revealed,
          matchForm,
          attempt.committee.map((_, seat) => (seat < count ? { matches: [] } : null)),
        ),
      );
    assert.deepEqual(concluded(attempt, comparing(4)).shares, Array(4).fill(SURE_RIGHT));
    assertFields(concluded(attempt, comparing(3)), {
      status: "decided",
      shares: [SURE_RIGHT, SURE_RIGHT, SURE_RIGHT, 0],
    });
  });

  it("texts: different wordings are one hypothesis once more than half of the seats say they mean the same", () => {
    const attempt = attemptFor(4, { kind: "text" });
    const acts = reports(4, (seat) => report(seat < 2 ? "The treaty was signed in 1648." : "It was signed in 1648."));
    const outcomes = ["The treaty was signed in 1648.", "It was signed in 1648."].map((text) =>
      outcomeOfText(attempt, text),
    );
    const [first, second] = outcomes.toSorted() as [never, never];
    const matched = (agreeing: number) =>
      lastOf(attempt, (tally, round) =>
        closed(
          say(
            propose(tally, attempt, round, acts),
            matchForm,
            attempt.committee.map((_, seat) => ({ matches: seat < agreeing ? [{ first, second, same: true }] : [] })),
          ),
        ),
      );
    assert.match(decision(matched(3)), /1648/);
    assert.deepEqual(matched(3).shares, Array(4).fill(SURE_RIGHT));
    assert.equal(decision(matched(2)), "hung");
  });
});

function outcomeOfText(attempt: Attempt, text: string): string {
  const tally = propose(
    emptyTally,
    attempt,
    0,
    attempt.committee.map(() => report(text)),
  );
  return concluded(
    attempt,
    closed(
      say(
        tally,
        matchForm,
        attempt.committee.map(() => ({ matches: [] })),
      ),
    ),
  ).outcome;
}
