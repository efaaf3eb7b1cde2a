import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  runReference,
  runReferenceSequence,
  type MockAgent,
  type ReferenceAgent,
  type ReferenceScenario,
  type ScriptedAgent,
} from "../references/mbft.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import { checkVectors, parseVectors } from "../conformance/conformance.ts";

const vectors = JSON.parse(
  readFileSync(new URL("../../test/vectors/mbft-reference.json", import.meta.url), "utf8"),
) as {
  scenarios: (ReferenceScenario & { id: string; expect: unknown })[];
  edges: (ReferenceScenario & { id: string; expect: unknown })[];
  sequences: ReferenceScenario[];
};

/** Confidence on the ladder of tenths; doubles, as in the reference. */
const tau = fc.integer({ min: 0, max: 10 }).map((tier) => tier / 10);
const positiveTau = fc.integer({ min: 1, max: 10 }).map((tier) => tier / 10);
const rho = fc.constantFrom(1, 1, 0.999999, 0.7, 0.5, 0.49, 0.05);
const answer = fc.constantFrom("TRUE", "FALSE", "X");
const sigma = fc.constantFrom(0.9, 0.5, 0.1, 0.05);

function named<T extends object>(agents: readonly T[]): (T & { id: string })[] {
  return agents.map((agent, index) => ({ ...agent, id: `a${index}` }));
}

function honest(value: string, confidence: number, rho0 = 1): Omit<MockAgent, "id"> {
  return { answer: value, tau: confidence, byzantine: false, accept: null, rho0 };
}

function byzantine(value: string, confidence: number): Omit<MockAgent, "id"> {
  return { ...honest(value, confidence), byzantine: true };
}

const mockAgent = fc.record({
  answer,
  tau,
  byzantine: fc.boolean(),
  accept: fc.option(fc.subarray(["TRUE", "FALSE", "X"])),
  rho0: rho,
});
const scriptedAgent = fc.record({
  props: fc.array(fc.tuple(answer, tau), { minLength: 1, maxLength: 5 }),
  votes: fc.array(
    fc.integer({ min: -10, max: 10 }).map((weight) => weight / 10),
    { minLength: 1, maxLength: 5 },
  ),
  rho0: rho,
});
const scenarios: fc.Arbitrary<ReferenceScenario> = fc.record({
  agents: fc
    .array(fc.oneof(mockAgent, scriptedAgent), { minLength: 1, maxLength: 10 })
    .map((agents): ReferenceAgent[] => named(agents)),
  theta: fc.double({ min: -1, max: 8, noNaN: true }),
  sigma,
  maxRounds: fc.integer({ min: 0, max: 6 }),
});

/** Round by round, reputation before the round; the last entry is the final reputation. */
function reputations(scenario: ReferenceScenario): readonly Readonly<Record<string, number>>[] {
  const { history } = runReference(scenario);
  return [0, ...history.map(({ round }) => round + 1)].map(
    (maxRounds) => runReference({ ...scenario, maxRounds }).finalReputation,
  );
}

describe("mbft reference: vectors", () => {
  it("M31: gives every value of every scenario, edge and sequence, the doubles bit for bit", () => {
    for (const { id, expect, ...scenario } of [...vectors.scenarios, ...vectors.edges]) {
      assert.deepEqual(runReference(scenario), expect, id);
    }
    const parsed = parseVectors(JSON.stringify(vectors));
    assert.ok(parsed.ok);
    const results = checkVectors(parsed.file);
    assert.equal(results.length, 131);
    assert.deepEqual(
      results.flatMap(({ differences }) => differences),
      [],
    );
  });
});

describe("mbft reference: the published suite's properties", () => {
  it("M13: is deterministic, and does not change its input", () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const before = structuredClone(scenario);
        assert.deepEqual(runReference(scenario), runReference(structuredClone(scenario)));
        assert.deepEqual(structuredClone(scenario), before);
      }),
    );
  });

  it("M09: commits only at theta or more, without a veto, and a value that its leader proposed", () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const result = runReference(scenario);
        const before = reputations(scenario);
        for (const { round, aggregate, committed, votes, leader } of result.history) {
          const vetoed = votes.some(([voter, weight]) => weight < 0 && before[round]?.[voter] === 1);
          assert.equal(committed !== null, aggregate >= scenario.theta && !vetoed);
          const agent = scenario.agents.find(({ id }) => id === leader) as ReferenceAgent;
          const proposed = "props" in agent ? agent.props.map(([value]) => value) : [agent.answer];
          if (committed !== null) assert.ok(proposed.includes(committed));
        }
      }),
      { numRuns: 300 },
    );
  });

  it("ends within maxRounds, and an exhausted run has no value", () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const result = runReference(scenario);
        assert.ok(result.rounds <= scenario.maxRounds);
        assert.equal(result.rounds, result.history.length);
        assert.equal(result.committed, result.value !== null);
        if (!result.committed) assert.equal(result.rounds, scenario.maxRounds);
        assert.ok(result.history.slice(0, -1).every(({ committed }) => committed === null));
      }),
    );
  });

  it("slashes exactly the leaders of failed rounds, so that no reputation ever rises (Prop. 3)", () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const before = reputations(scenario);
        for (const { round, leader, committed, slashed } of runReference(scenario).history) {
          assert.deepEqual(slashed, committed === null ? [leader] : []);
          for (const { id } of scenario.agents) {
            const [now, next] = [before[round]?.[id] as number, before[round + 1]?.[id] as number];
            assert.equal(next, slashed.includes(id) ? now * scenario.sigma : now);
            assert.ok(next <= now && next > 0);
          }
        }
      }),
    );
  });

  it("elects the first agent with the greatest tau x rho", () => {
    const first = (agents: readonly Omit<MockAgent, "id">[]): string | null =>
      runReference({ agents: named(agents), theta: 0, sigma: 0.5, maxRounds: 1 }).leader;
    assert.equal(first([honest("X", 0.5), honest("X", 0.8), honest("X", 0.8)]), "a1");
    assert.equal(first([honest("X", 0.9, 0.5), honest("X", 0.5)]), "a1");
    assert.equal(first([honest("X", 0), honest("X", 0)]), "a0");
  });

  it("counts the leader's own weight (M08) and the votes of byzantine followers", () => {
    const agents = named([honest("X", 0.9), byzantine("Y", 0.5)]);
    const [round] = runReference({ agents, theta: 1.4, sigma: 0.5, maxRounds: 1 }).history;
    assert.deepEqual(round?.votes, [["a1", 0.5]]);
    assert.equal(round.aggregate, 1.4);
    assert.equal(round.committed, "X");
  });

  it("never commits a byzantine value with f < n/3 and theta > f * tauMax (Prop. 1)", () => {
    const swarms = fc.integer({ min: 4, max: 13 }).chain((size) => {
      const faults = faultTolerance(size);
      return fc.record({
        liars: fc.array(fc.record({ confidence: tau, votes: fc.boolean() }), { minLength: faults, maxLength: faults }),
        truthful: fc.array(positiveTau, { minLength: size - faults, maxLength: size - faults }),
        sigma,
        shift: fc.nat(12),
        excess: fc.constantFrom(1e-9, 0.1, 1),
      });
    });
    fc.assert(
      fc.property(swarms, ({ liars, truthful, shift, excess, ...rest }) => {
        const agents = [
          ...truthful.map((confidence) => honest("TRUE", confidence)),
          ...liars.map(({ confidence, votes }) => ({ ...honest("FALSE", confidence), byzantine: votes })),
        ];
        const rotated = named(agents.map((_, index) => agents[(index + shift) % agents.length] as (typeof agents)[0]));
        const result = runReference({ agents: rotated, theta: liars.length + excess, maxRounds: 8, ...rest });
        assert.notEqual(result.value, "FALSE");
      }),
      { numRuns: 300 },
    );
  });

  it("commits a unanimous honest swarm in round 0 up to theta = its sum, equality included (Prop. 2)", () => {
    fc.assert(
      fc.property(
        fc.array(tau, { minLength: 1, maxLength: 13 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (taus, share) => {
          const agents = named(taus.map((confidence) => honest("X", confidence)));
          const run = (theta: number): ReturnType<typeof runReference> =>
            runReference({ agents, theta, sigma: 0.5, maxRounds: 3 });
          const sum = run(-1).history[0]?.aggregate ?? Number.NaN;
          for (const theta of [sum, sum * share]) {
            assert.deepEqual([run(theta).value, run(theta).rounds], ["X", 1]);
          }
          assert.equal(run(sum + 1e-6).committed, false);
        },
      ),
    );
  });

  it("commits more weight in a larger unanimous swarm (Prop. 4)", () => {
    for (const confidence of [0, 0.1, 0.5, 0.8, 1]) {
      let previous = -Infinity;
      for (let size = 1; size <= 40; size += 1) {
        const agents = named(Array.from({ length: size }, () => honest("X", confidence)));
        const weight = runReference({ agents, theta: 0, sigma: 0.5, maxRounds: 1 }).history[0]?.aggregate ?? Number.NaN;
        assert.ok(weight >= previous);
        previous = weight;
      }
    }
  });

  it("lets slashed agents speak, not veto (M10)", () => {
    const veto = (rho0: number): string | null =>
      runReference({
        agents: named([honest("X", 1), honest("X", 1), honest("Y", 0.1, rho0)]),
        theta: 1,
        sigma: 0.5,
        maxRounds: 1,
      }).value;
    assert.equal(veto(1), null);
    assert.equal(veto(0.999999), "X");
  });

  it("takes a rejection without confidence, -0.0, for an abstention", () => {
    const agents = named([honest("X", 0.9), honest("Y", 0)]);
    const result = runReference({ agents, theta: 0.9, sigma: 0.5, maxRounds: 1 });
    assert.equal(result.value, "X");
    assert.ok(Object.is(result.history[0]?.votes[0]?.[1], -0));
  });

  it("M11, M12: promotes the strongest counter-proposer, by the reputation after the slash, first minimum", () => {
    const lead = (agents: readonly Omit<MockAgent, "id">[], maxRounds: number): readonly string[] =>
      runReference({ agents: named(agents), theta: 99, sigma: 0.5, maxRounds }).history.map(({ leader }) => leader);
    assert.deepEqual(lead([honest("X", 1), honest("Y", 0.6), honest("Y", 0.6), honest("Y", 0.9, 0.5)], 2), [
      "a0",
      "a1",
    ]);
    // In round 1 a0 rejects with 1 x .5, less than a2 with .8 x 1, whose answer is Z.
    assert.deepEqual(lead([honest("X", 1), honest("Y", 0.9), honest("Z", 0.8)], 3), ["a0", "a1", "a2"]);
    // Nobody rejects: back to the greatest tau x rho, which now is a1's.
    assert.deepEqual(lead([honest("X", 1), honest("X", 0.9), honest("X", 0.3)], 3), ["a0", "a1", "a0"]);
  });

  it("reads scripted proposals and votes by round; the last entry serves later rounds", () => {
    const agents: ScriptedAgent[] = [
      {
        id: "a",
        props: [
          ["X", 1],
          ["Y", 0.5],
        ],
        votes: [-1, 0.4],
        rho0: 1,
      },
      { id: "b", props: [["Z", 0.5]], votes: [0, -0.2], rho0: 1 },
    ];
    const { history } = runReference({ agents, theta: 5, sigma: 0.5, maxRounds: 3 });
    assert.deepEqual(
      history.map(({ leader, votes, aggregate }) => [leader, votes, aggregate]),
      [
        ["a", [["b", 0]], 1],
        ["b", [["a", 0.4]], 0.7],
        // a: .5 x .5; b was slashed to .5, too, and rejects.
        ["a", [["b", -0.2]], 0.5 * 0.5 + -0.2 * 0.5],
      ],
    );
    assert.throws(
      () => runReference({ agents: [{ id: "a", props: [], votes: [], rho0: 1 }], theta: 1, sigma: 0.5, maxRounds: 1 }),
      RangeError,
    );
  });

  it("runs no round when none is allowed", () => {
    const result = runReference({ agents: named([honest("X", 1)]), theta: 0, sigma: 0.5, maxRounds: 0 });
    assert.deepEqual(result, {
      committed: false,
      value: null,
      leader: null,
      rounds: 0,
      finalReputation: { a0: 1 },
      history: [],
    });
  });
});

describe("mbft reference: what it gets wrong, kept as counter-examples to the sound mode", () => {
  it("needs four rounds for its own demo, and slashes two honest agents", () => {
    const demo = vectors.edges[0] as ReferenceScenario;
    const { leader, rounds, finalReputation } = runReference(demo);
    assert.deepEqual([leader, rounds], ["a2", 4]);
    assert.deepEqual(finalReputation, { a1: 0.5, a2: 1, a3: 1, a4: 0.5, a5: 0.5 });
  });

  it("lets an accuser who proposes the truth become sole veto holder and permanent leader (M23)", () => {
    const results = runReferenceSequence(vectors.sequences[0] as ReferenceScenario, 10);
    assert.deepEqual(
      results.map(({ leader }) => leader),
      Array.from({ length: 10 }, () => "b"),
    );
    assert.deepEqual(results.at(-1)?.finalReputation, { h0: 0.5, h1: 0.5, h2: 0.5, b: 1 });
  });

  it("stalls on two coordinated vetoers of seven, one loud and one stealthy (M22)", () => {
    // The loud vetoer is promoted again and again while honest leaders are slashed under the stealthy one's veto.
    const vetoers = [0.9, 0.05].map((confidence) => ({ ...honest("FALSE", confidence), accept: [] }));
    const agents = named([...Array.from({ length: 5 }, () => honest("TRUE", 0.9)), ...vetoers]);
    const result = runReference({ agents, theta: 0.6 * 7 * 0.9, sigma: 0.5, maxRounds: 100 });
    assert.equal(result.committed, false);
  });

  it("lets one low-confidence mistaken agent stop nine", () => {
    const agents = named([...Array.from({ length: 9 }, () => honest("TRUE", 0.9)), honest("FALSE", 0.1)]);
    assert.equal(runReference({ agents, theta: 5, sigma: 0.5, maxRounds: 1 }).committed, false);
  });

  it("misses equality theta = n * tau, because doubles do not add up", () => {
    const agents = named(Array.from({ length: 10 }, () => honest("X", 0.1)));
    assert.equal(runReference({ agents, theta: 10 * 0.1, sigma: 0.5, maxRounds: 1 }).committed, false);
  });

  it("commits another value when the same agents come in another order", () => {
    const agents = named([byzantine("FALSE", 0.9), byzantine("TRUE", 0.9)]);
    const run = (list: readonly ReferenceAgent[]): string | null =>
      runReference({ agents: list, theta: 1, sigma: 0.5, maxRounds: 1 }).value;
    assert.deepEqual([run(agents), run(agents.toReversed())], ["FALSE", "TRUE"]);
  });

  it("commits a byzantine value once theta is within reach of the fooled", () => {
    const agents = named([
      byzantine("FALSE", 1),
      honest("TRUE", 0.8, 0.5),
      { ...honest("TRUE", 0.9), accept: ["TRUE", "FALSE"] },
    ]);
    assert.equal(runReference({ agents, theta: 1.2, sigma: 0.5, maxRounds: 1 }).value, "FALSE");
  });
});
