import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  runBayesianReference,
  type BayesianAgent,
  type BayesianResult,
  type BayesianScenario,
} from "../references/mbft-bayesian.ts";
import { checkVectors, parseVectors } from "../conformance/conformance.ts";

type Vector = BayesianScenario & { id: string; expect: Omit<BayesianResult, "tied"> };

const vectors = JSON.parse(
  readFileSync(new URL("../../test/vectors/mbft-bayesian-reference.json", import.meta.url), "utf8"),
) as {
  scenarios: Vector[];
  edges: Vector[];
  sequences: unknown[];
};

const report = fc.tuple(
  fc.constantFrom("TRUE", "FALSE", "X", "Y"),
  fc.integer({ min: 0, max: 10 }).map((tier) => tier / 10),
);
const rho = fc.constantFrom(1, 1, 0.7, 0.49, 0.05);
const scenarios: fc.Arbitrary<BayesianScenario> = fc.record({
  agents: fc
    .array(fc.record({ props: fc.array(report, { minLength: 1, maxLength: 4 }), rho0: rho }), {
      minLength: 1,
      maxLength: 9,
    })
    .map((agents): BayesianAgent[] => agents.map((agent, index) => ({ ...agent, id: `a${index}` }))),
  thetaPost: fc.constantFrom(0.5, 0.7, 0.85, 0.99),
  logBfMin: fc.constantFrom(0, 1.0986122886681098, Math.LN10),
  sigma: fc.constantFrom(0.9, 0.5, 0.05),
  maxRounds: fc.integer({ min: 0, max: 4 }),
});

function swarm(reports: readonly (readonly [string, number])[], rho0 = 1): BayesianScenario {
  const agents = reports.map((single, index) => ({ id: `a${index}`, props: [single], rho0 }));
  return { agents, thetaPost: 0.85, logBfMin: Math.LN10, sigma: 0.5, maxRounds: 3 };
}

function times<T>(count: number, value: T): readonly T[] {
  return Array.from({ length: count }, () => value);
}

function near(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${actual} is not near ${expected}`);
}

describe("mbft-bayesian reference: vectors", () => {
  it("matches every scenario and edge", () => {
    const parsed = parseVectors(JSON.stringify(vectors));
    assert.ok(parsed.ok);
    const results = checkVectors(parsed.file);
    assert.equal(results.length, 105);
    assert.deepEqual(
      results.flatMap(({ differences }) => differences),
      [],
    );
  });

  it("gives every log Bayes factor and every reputation bit for bit", () => {
    for (const entry of [...vectors.scenarios, ...vectors.edges]) {
      const { history, finalReputation } = runBayesianReference(entry);
      assert.deepEqual(finalReputation, entry.expect.finalReputation, entry.id);
      assert.deepEqual(
        history.map(({ logBf }) => logBf),
        entry.expect.history.map(({ logBf }) => logBf),
        entry.id,
      );
    }
  });
});

describe("mbft-bayesian reference: properties", () => {
  it("is deterministic, and the order of agents matters in the last bits only", () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const result = runBayesianReference(scenario);
        assert.deepEqual(runBayesianReference(structuredClone(scenario)), result);
        const reversed = runBayesianReference({ ...scenario, agents: scenario.agents.toReversed() });
        const { posterior = {} } = result.history[0] ?? {};
        for (const [hypothesis, mass] of Object.entries(posterior))
          near(reversed.history[0]?.posterior[hypothesis] ?? -1, mass);
      }),
    );
  });

  it("keeps a distribution over every hypothesis seen so far", () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const { history } = runBayesianReference(scenario);
        for (const { round, posterior } of history) {
          const seen = scenario.agents.flatMap(({ props }) => props.slice(0, round + 1).map(([answer]) => answer));
          assert.deepEqual(Object.keys(posterior).toSorted(), [...new Set(seen)].toSorted());
          near(
            Object.values(posterior).reduce((sum, mass) => sum + mass, 0),
            1,
          );
          assert.ok(Object.values(posterior).every((mass) => mass >= 0 && mass <= 1));
        }
      }),
    );
  });

  it("commits the hypothesis of greatest mass iff mass and Bayes factor suffice, within maxRounds", () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const { history, rounds, value, committed } = runBayesianReference(scenario);
        for (const { posterior, logBf, committed: answer } of history) {
          const [top = 0, runner = 0] = Object.values(posterior).toSorted((a, b) => b - a);
          near(logBf, Math.log(Math.max(top, 1e-12)) - Math.log(Math.max(runner, 1e-12)));
          assert.equal(answer !== null, top >= scenario.thetaPost && logBf >= scenario.logBfMin);
          if (answer !== null) assert.equal(posterior[answer], top);
        }
        assert.equal(committed, value !== null);
        assert.equal(rounds, history.length);
        assert.ok(committed ? rounds <= scenario.maxRounds : rounds === scenario.maxRounds);
      }),
    );
  });

  it("never raises a reputation, and slashes exactly those who missed the leading hypothesis", () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const { finalReputation, history } = runBayesianReference(scenario);
        for (const { id, rho0, props } of scenario.agents) {
          const misses = history.filter(({ round, posterior, committed }) => {
            const top = Math.max(...Object.values(posterior));
            const [answer] = props[Math.min(round, props.length - 1)] ?? [""];
            return committed === null && (posterior[answer] ?? 0) < top;
          }).length;
          // In a tie the leading hypothesis is one of several.
          assert.ok((finalReputation[id] as number) <= rho0);
          assert.ok((finalReputation[id] as number) <= rho0 * scenario.sigma ** misses + 1e-12);
        }
      }),
    );
  });

  it("concentrates on the truth when the honest outweigh the liars, and not below the margin", () => {
    const concentrated = runBayesianReference(swarm([...times(5, ["T", 0.8] as const), ["F", 0.9]]));
    assert.equal(concentrated.value, "T");
    const split = runBayesianReference(
      swarm([
        ["T", 0.8],
        ["F", 0.8],
      ]),
    );
    assert.equal(split.committed, false);
    assert.equal(split.history[0]?.logBf, 0);
    assert.equal(split.tied, true);
  });

  it("tempers reports by reputation: without reputation, no evidence", () => {
    const weights = [1, 0.5, 0.05, 1e-12].map(
      (rho0) =>
        runBayesianReference(
          swarm(
            [
              ["T", 0.9],
              ["F", 0.5],
            ],
            rho0,
          ),
        ).history[0]?.logBf ?? -1,
    );
    assert.deepEqual(
      weights,
      weights.toSorted((a, b) => b - a),
    );
    near(weights.at(-1) ?? -1, 0);
  });

  it("commits at equality with both thresholds, not above", () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const [first] = runBayesianReference({ ...scenario, maxRounds: 1 }).history;
        const { posterior = {}, logBf = 0 } = first ?? {};
        const thetaPost = Math.max(...Object.values(posterior));
        const commits = (change: Partial<BayesianScenario>): boolean =>
          runBayesianReference({ ...scenario, thetaPost, logBfMin: logBf, maxRounds: 1, ...change }).committed;
        assert.equal(commits({}), true);
        assert.equal(commits({ thetaPost: thetaPost + 1e-15 }), false);
        assert.equal(commits({ logBfMin: logBf + 1e-14 }), false);
      }),
    );
  });

  it("gives hypotheses that come later a prior of 1e-9", () => {
    const agents = [
      {
        id: "a",
        props: [
          ["T", 0.5],
          ["L", 0.5],
        ] as const,
        rho0: 1,
      },
      { id: "b", props: [["F", 0.5]] as const, rho0: 1 },
    ];
    const { history } = runBayesianReference({ ...swarm([]), agents, thetaPost: 1, maxRounds: 2 });
    // a was tied or slashed; its report counts 1/2 for L and 1/4 for others, b's 1/2 for F.
    assert.ok((history[1]?.posterior["L"] ?? 1) < 1e-8);
    assert.ok((history[1]?.posterior["L"] ?? 0) > 1e-10);
  });

  it("chooses between tied hypotheses by the given order", () => {
    const scenario = {
      ...swarm([
        ["T", 0.8],
        ["F", 0.8],
      ]),
      maxRounds: 1,
    };
    assert.deepEqual(runBayesianReference(scenario, ["T", "F"]).finalReputation, { a0: 1, a1: 0.5 });
    assert.deepEqual(runBayesianReference(scenario, ["F", "T"]).finalReputation, { a0: 0.5, a1: 1 });
  });

  it("refuses an agent without reports", () => {
    const agents = [{ id: "a", props: [], rho0: 1 }];
    assert.throws(() => runBayesianReference({ ...swarm([]), agents }), RangeError);
  });
});

describe("mbft-bayesian reference: what it gets wrong, kept as counter-examples to the sound mode", () => {
  it("is certain of the only hypothesis, however little its proposers trust it", () => {
    const { value, posterior } = runBayesianReference(swarm(times(5, ["T", 0.01] as const)));
    assert.deepEqual([value, posterior], ["T", { T: 1 }]);
  });

  it("lets one certain liar outvote nine honest agents at .8, but not ten", () => {
    const run = (honest: number): string | null =>
      runBayesianReference({ ...swarm([...times(honest, ["T", 0.8] as const), ["F", 1]]), logBfMin: 0, thetaPost: 0.5 })
        .value;
    assert.equal(run(9), "F");
    assert.equal(run(10), "T");
  });

  it("counts the same reports again in every round, until they suffice", () => {
    const scenario = {
      ...swarm([
        ["T", 0.6],
        ["T", 0.6],
        ["F", 0.6],
      ]),
      sigma: 0.99,
      maxRounds: 8,
    };
    const { history, value } = runBayesianReference(scenario);
    assert.ok((history[0]?.posterior["T"] ?? 1) < 0.61);
    assert.equal(value, "T");
    assert.ok(history.length > 2);
  });
});
