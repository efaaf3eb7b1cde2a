import { readFileSync } from "node:fs";
import { runBayesianReference } from "../references/mbft-bayesian.ts";
import { runReference, type MockAgent, type ReferenceScenario, type ScriptedAgent } from "../references/mbft.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";

/** Counter-examples to the paper's propositions, computed with its published rules. */

const RIGHT = "TRUE";
const WRONG = "FALSE";
const SIGMA = 0.5;
/** Least distance from a bound that matters. */
export const LEAST = 1e-9;
/** Bound as in the attack of the certain liar (lab/attacks/scripted.ts); the discrete rules get as many rounds. */
const THETA_POST = 0.85;
const BAYESIAN = { thetaPost: THETA_POST, logBfMin: Math.log(3), sigma: 0.7, maxRounds: 5 } as const;

/** Number of runs, and of those that break a promise. */
export interface Misses {
  readonly missed: number;
  readonly of: number;
}

/**
 * Odds that a committee decides right, wrong or not at all, if its seats are right independently, each with its tau.
 */
export interface Calibrated {
  readonly taus: readonly number[];
  readonly bayesian: Odds;
  readonly discrete: Odds;
  /** The largest share of wrong commits that the least posterior allows. */
  readonly promised: number;
}

interface Odds {
  readonly right: number;
  readonly wrong: number;
  readonly hung: number;
}

/**
 * Returns the number of fooled honest verifiers that makes the reference commit the answer of f liars at the least
 * theta of Proposition 1; null = no number does.
 */
export function fooledNeeded(seats: number): number | null {
  const faulty = faultTolerance(seats);
  for (let fooled = 0; fooled <= seats - faulty; fooled++) {
    const agents = Array.from({ length: seats }, (_, seat): ScriptedAgent => {
      const isLiar = seat < faulty;
      const accepts = isLiar || seat < faulty + fooled;
      return { id: `a${seat}`, props: [isLiar ? [WRONG, 1] : [RIGHT, 0.9]], votes: [accepts ? 0.9 : 0], rho0: 1 };
    });
    const { value } = runReference({ agents, theta: faulty + LEAST, sigma: SIGMA, maxRounds: 1 });
    if (value === WRONG) return fooled;
  }
  return null;
}

/** Proposition 2: counts unanimous committees that do not commit in round 0 with theta that far below n tau. */
export function missedCommits(below: number): Misses {
  const taus = Array.from({ length: 10 }, (_, index) => (index + 1) / 10);
  const runs = Array.from({ length: 31 }, (_, index) => index + 1).flatMap((seats) =>
    taus.map((tau) =>
      runReference({ agents: unanimous(seats, tau), theta: seats * tau - below, sigma: SIGMA, maxRounds: 1 }),
    ),
  );
  return { missed: runs.filter(({ committed }) => !committed).length, of: runs.length };
}

/** Proposition 3: counts recorded scenarios in which some reputation ends above its start. */
export function risingReputations(): Misses {
  const path = new URL("../../test/vectors/mbft-reference.json", import.meta.url);
  const { scenarios } = JSON.parse(readFileSync(path, "utf8")) as { readonly scenarios: readonly ReferenceScenario[] };
  const rising = scenarios.filter((scenario) => {
    const { finalReputation } = runReference(scenario);
    return scenario.agents.some(({ id, rho0 }) => (finalReputation[id] ?? 0) > rho0);
  });
  return { missed: rising.length, of: scenarios.length };
}

/** Proposition 4: counts sizes up to 64 at which a further agent lowers the committed weight. */
export function shrinkingWeights(): Misses {
  const weights = Array.from({ length: 64 }, (_, index) => {
    const run = runReference({ agents: unanimous(index + 1, 0.8), theta: 0, sigma: SIGMA, maxRounds: 1 });
    return run.history[0]?.aggregate ?? 0;
  });
  const falls = weights.filter((weight, index) => weight < (weights[index - 1] ?? 0));
  return { missed: falls.length, of: weights.length - 1 };
}

/** True if two equally confident agents commit the same in either order. */
export function isOrderBlind(): boolean {
  const agents = [WRONG, RIGHT].map((answer, seat) => ({ ...agent(seat, answer, 0.9), byzantine: true }));
  const [one, other] = [agents, agents.toReversed()].map((list) => {
    return runReference({ agents: list, theta: 1, sigma: SIGMA, maxRounds: 1 }).value;
  });
  return one === other;
}

/** Section VI: weighs every outcome of independent seats by its probability, under both published rules. */
export function calibratedSeats(taus: readonly number[]): Calibrated {
  const bayesian = { right: 0, wrong: 0, hung: 0 };
  const discrete = { right: 0, wrong: 0, hung: 0 };
  const theta = faultTolerance(taus.length) * Math.max(...taus) + LEAST;
  for (let outcome = 0; outcome < 2 ** taus.length; outcome++) {
    const isRight = (seat: number): boolean => ((outcome >> seat) & 1) === 1;
    const odds = taus.reduce((product, tau, seat) => product * (isRight(seat) ? tau : 1 - tau), 1);
    const agents = taus.map((tau, seat) => agent(seat, isRight(seat) ? RIGHT : WRONG, tau));
    const reports = agents.map(({ id, answer, tau, rho0 }) => ({ id, props: [[answer, tau] as const], rho0 }));
    bayesian[markOf(runBayesianReference({ agents: reports, ...BAYESIAN }).value)] += odds;
    discrete[markOf(runReference({ agents, theta, sigma: SIGMA, maxRounds: BAYESIAN.maxRounds }).value)] += odds;
  }
  return { taus, bayesian, discrete, promised: 1 - THETA_POST };
}

function markOf(value: string | null): keyof Odds {
  return value === null ? "hung" : value === RIGHT ? "right" : "wrong";
}

function unanimous(seats: number, tau: number): readonly MockAgent[] {
  return Array.from({ length: seats }, (_, seat) => agent(seat, RIGHT, tau));
}

function agent(seat: number, answer: string, tau: number): MockAgent {
  return { id: `a${seat}`, answer, tau, byzantine: false, accept: null, rho0: 1 };
}
