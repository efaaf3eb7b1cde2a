import { readFileSync } from "node:fs";
import {
  runReference,
  type MockAgent,
  type ReferenceScenario,
  type ScriptedAgent,
} from "../../../agents/core/protocols/mbft-reference.ts";
import { faultTolerance } from "../../../agents/core/quorum.ts";

/** Counter-examples to the paper's propositions, computed with its published rules. */

const RIGHT = "TRUE";
const WRONG = "FALSE";
const SIGMA = 0.5;
const LEAST = 1e-9;

/** How many fooled honest verifiers make the reference commit the answer of f liars at the least theta of Proposition 1; null = any number fails. */
export function fooledNeeded(seats: number): number | null {
  const faults = faultTolerance(seats);
  for (let fooled = 0; fooled <= seats - faults; fooled++) {
    const agents = Array.from({ length: seats }, (_, seat): ScriptedAgent => {
      const isLiar = seat < faults;
      const accepts = isLiar || seat < faults + fooled;
      return { id: `a${seat}`, props: [isLiar ? [WRONG, 1] : [RIGHT, 0.9]], votes: [accepts ? 0.9 : 0], rho0: 1 };
    });
    const { value } = runReference({ agents, theta: faults + LEAST, sigma: SIGMA, maxRounds: 1 });
    if (value === WRONG) return fooled;
  }
  return null;
}

/** Proposition 2 at equality: unanimous committees that do not commit in round 0. */
export function missedEqualities(): { readonly missed: number; readonly of: number } {
  const taus = Array.from({ length: 10 }, (_, index) => (index + 1) / 10);
  const runs = Array.from({ length: 31 }, (_, index) => index + 1).flatMap((seats) =>
    taus.map((tau) => runReference({ agents: unanimous(seats, tau), theta: seats * tau, sigma: SIGMA, maxRounds: 1 })),
  );
  return { missed: runs.filter(({ committed }) => !committed).length, of: runs.length };
}

/** Proposition 3: recorded scenarios in which some reputation ends above where it began. */
export function risingReputations(): number {
  const path = new URL("../../../test/vectors/mbft-reference.json", import.meta.url);
  const { scenarios } = JSON.parse(readFileSync(path, "utf8")) as { readonly scenarios: readonly ReferenceScenario[] };
  return scenarios.filter((scenario) => {
    const { finalReputation } = runReference(scenario);
    return scenario.agents.some(({ id, rho0 }) => (finalReputation[id] ?? 0) > rho0);
  }).length;
}

/** Proposition 4: sizes up to 64 at which a further agent lowers the committed weight. */
export function shrinkingWeights(): number {
  const weights = Array.from({ length: 64 }, (_, index) => {
    const run = runReference({ agents: unanimous(index + 1, 0.8), theta: 0, sigma: SIGMA, maxRounds: 1 });
    return run.history[0]?.aggregate ?? 0;
  });
  return weights.filter((weight, index) => weight < (weights[index - 1] ?? 0)).length;
}

/** Whether two equally sure agents commit the same in either order. */
export function isOrderBlind(): boolean {
  const agents = [WRONG, RIGHT].map((answer, seat) => ({ ...agent(seat, answer, 0.9), byzantine: true }));
  const [one, other] = [agents, agents.toReversed()].map((list) => {
    return runReference({ agents: list, theta: 1, sigma: SIGMA, maxRounds: 1 }).value;
  });
  return one === other;
}

function unanimous(seats: number, tau: number): readonly MockAgent[] {
  return Array.from({ length: seats }, (_, seat) => agent(seat, RIGHT, tau));
}

function agent(seat: number, answer: string, tau: number): MockAgent {
  return { id: `a${seat}`, answer, tau, byzantine: false, accept: null, rho0: 1 };
}
