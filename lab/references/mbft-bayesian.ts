import { exp, ln } from "./correctly-rounded.ts";

/**
 * The Bayesian sibling exactly as its published code defines it (`meta.semantics` of
 * test/vectors/mbft-bayesian-reference.json), floats included. It serves comparison and audit and is never registered
 * as an on-chain protocol. It keeps the known flaws: reports count again in every round, and one agent's weight is
 * not capped.
 */

export interface BayesianAgent {
  readonly id: string;
  /** Answer and confidence per round; the last entry serves all later rounds. */
  readonly props: readonly (readonly [answer: string, tau: number])[];
  /** Reputation before the first round, in (0, 1]. */
  readonly rho0: number;
}

export interface BayesianScenario {
  readonly agents: readonly BayesianAgent[];
  /** Least posterior of a commit. */
  readonly thetaPost: number;
  /** Least natural logarithm of the ratio of the two highest posteriors. */
  readonly logBfMin: number;
  readonly sigma: number;
  readonly maxRounds: number;
}

export interface BayesianRound {
  readonly round: number;
  readonly posterior: Readonly<Record<string, number>>;
  readonly logBf: number;
  /** The committed answer, or null. */
  readonly committed: string | null;
}

export interface BayesianResult {
  readonly committed: boolean;
  readonly value: string | null;
  readonly rounds: number;
  readonly logBayesFactor: number;
  readonly posterior: Readonly<Record<string, number>>;
  readonly finalReputation: Readonly<Record<string, number>>;
  readonly history: readonly BayesianRound[];
  /** True if two hypotheses had the same highest posterior in some round, so that `order` chose between them. */
  readonly tied: boolean;
}

interface Report {
  readonly agent: BayesianAgent;
  readonly answer: string;
  readonly tau: number;
}

interface Verdict {
  readonly map: string;
  readonly top: number;
  readonly logBf: number;
  readonly tied: boolean;
}

const TAU_MARGIN = 1e-6;
const LATE_PRIOR = 1e-9;
const POSTERIOR_FLOOR = 1e-12;

/**
 * Runs one decision. `order` ranks the hypotheses, first rank first. The reference uses an unordered set there, whose
 * order decides ties and the last bit of the normalisation. Default: by code unit.
 */
export function runBayesianReference(scenario: BayesianScenario, order: readonly string[] = []): BayesianResult {
  const { agents, thetaPost, logBfMin, sigma, maxRounds } = scenario;
  let reputation: ReadonlyMap<string, number> = new Map(agents.map(({ id, rho0 }) => [id, rho0]));
  let belief: ReadonlyMap<string, number> = new Map();
  let tied = false;
  const history: BayesianRound[] = [];
  for (let round = 0; round < maxRounds; round += 1) {
    const reports = agents.map((agent): Report => {
      const [answer, tau] = proposalOf(agent, round);
      return { agent, answer, tau };
    });
    belief = update(extend(belief, reports, order), reports, reputation);
    const verdict = judge(belief);
    tied ||= verdict.tied;
    const commits = verdict.top >= thetaPost && verdict.logBf >= logBfMin;
    history.push({
      round,
      posterior: Object.fromEntries(belief),
      logBf: verdict.logBf,
      committed: commits ? verdict.map : null,
    });
    if (commits) break;
    reputation = slash(reports, reputation, verdict.map, sigma);
  }
  const last = history.at(-1);
  return {
    committed: (last?.committed ?? null) !== null,
    value: last?.committed ?? null,
    rounds: history.length,
    logBayesFactor: last?.logBf ?? 0,
    posterior: last?.posterior ?? {},
    finalReputation: Object.fromEntries(reputation),
    history,
    tied,
  };
}

/** Returns the union of known and proposed hypotheses: uniform at first, later ones at a fixed small prior. */
function extend(
  belief: ReadonlyMap<string, number>,
  reports: readonly Report[],
  order: readonly string[],
): ReadonlyMap<string, number> {
  const proposed = new Set(reports.map(({ answer }) => answer));
  const prior = belief.size === 0 ? 1 / proposed.size : LATE_PRIOR;
  const hypotheses = [...new Set([...belief.keys(), ...proposed])].toSorted(
    (a, b) => rank(a, order) - rank(b, order) || compareText(a, b),
  );
  return new Map(hypotheses.map((hypothesis) => [hypothesis, belief.get(hypothesis) ?? prior]));
}

/** Bayes' rule in log space, each report tempered by its author's reputation. */
function update(
  belief: ReadonlyMap<string, number>,
  reports: readonly Report[],
  reputation: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const alternatives = Math.max(belief.size, 2) - 1;
  const likelihoods = reports.map(({ agent, answer, tau }) => {
    const clamped = Math.min(Math.max(tau, TAU_MARGIN), 1 - TAU_MARGIN);
    const rho = reputation.get(agent.id) as number;
    return { answer, match: rho * ln(clamped), mismatch: rho * ln((1 - clamped) / alternatives) };
  });
  const logs = [...belief].map(([hypothesis, prior]) =>
    likelihoods.reduce(
      (sum, { answer, match, mismatch }) => sum + (answer === hypothesis ? match : mismatch),
      ln(prior),
    ),
  );
  const highest = Math.max(...logs);
  const masses = logs.map((log) => exp(log - highest));
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  return new Map([...belief.keys()].map((hypothesis, index) => [hypothesis, (masses[index] as number) / total]));
}

function judge(belief: ReadonlyMap<string, number>): Verdict {
  // Stable, so that the first of equals stays first.
  const ranked = [...belief].toSorted(([, a], [, b]) => b - a);
  const [map, top] = ranked[0] as [string, number];
  const runner = ranked[1]?.[1];
  const logBf = ln(Math.max(top, POSTERIOR_FLOOR)) - ln(Math.max(runner ?? 0, POSTERIOR_FLOOR));
  return { map, top, logBf, tied: runner === top };
}

function slash(
  reports: readonly Report[],
  reputation: ReadonlyMap<string, number>,
  map: string,
  sigma: number,
): ReadonlyMap<string, number> {
  return new Map(
    reports.map(({ agent, answer }) => {
      const rho = reputation.get(agent.id) as number;
      return [agent.id, answer === map ? rho : rho * sigma];
    }),
  );
}

function proposalOf(agent: BayesianAgent, round: number): readonly [answer: string, tau: number] {
  const proposal = agent.props[Math.min(round, agent.props.length - 1)];
  if (proposal === undefined) throw new RangeError(`mbft-bayesian reference: agent ${agent.id} has no proposal`);
  return proposal;
}

function rank(hypothesis: string, order: readonly string[]): number {
  const index = order.indexOf(hypothesis);
  return index < 0 ? order.length : index;
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
