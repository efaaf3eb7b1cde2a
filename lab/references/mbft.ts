/**
 * The discrete protocol exactly as its paper and published code define it (docs/spec/mbft.md, reference mode;
 * `meta.semantics` of test/vectors/mbft-reference.json). It serves comparison and audit and is not registered as an
 * on-chain protocol. It and its Bayesian sibling use floats: they must add and multiply IEEE 754 doubles in the
 * reference's order to reproduce its comparisons bit by bit.
 */

/** An agent that holds one answer and votes by rule. */
export interface MockAgent {
  readonly id: string;
  readonly answer: string;
  /** Stated confidence, 0..1. */
  readonly tau: number;
  /** True if it accepts any proposal of the leader. */
  readonly byzantine: boolean;
  /** The answers it accepts; null = its own. */
  readonly accept: readonly string[] | null;
  /** Reputation before the first round, in (0, 1]. */
  readonly rho0: number;
}

/** An agent whose proposals and votes are given per round; the last entry serves all later rounds. */
export interface ScriptedAgent {
  readonly id: string;
  readonly props: readonly (readonly [answer: string, tau: number])[];
  /** Signed weights; 0 abstains. The entry of a round that it leads is not used. */
  readonly votes: readonly number[];
  readonly rho0: number;
}

export type ReferenceAgent = MockAgent | ScriptedAgent;

export interface ReferenceScenario {
  /** List order is the order of proposals, votes and ties. */
  readonly agents: readonly ReferenceAgent[];
  readonly theta: number;
  /** Slash factor, in (0, 1). */
  readonly sigma: number;
  readonly maxRounds: number;
}

export interface ReferenceRound {
  readonly round: number;
  readonly leader: string;
  readonly aggregate: number;
  /** The committed answer, or null. */
  readonly committed: string | null;
  readonly slashed: readonly string[];
  /** Voter and signed tau, without reputation. */
  readonly votes: readonly (readonly [voter: string, weight: number])[];
}

export interface ReferenceResult {
  readonly committed: boolean;
  readonly value: string | null;
  /** Leader of the last round; null if no round was run. */
  readonly leader: string | null;
  readonly rounds: number;
  readonly finalReputation: Readonly<Record<string, number>>;
  readonly history: readonly ReferenceRound[];
}

interface Vote {
  readonly voter: number;
  readonly weight: number;
}

/** Runs one decision to its commit or through `maxRounds` failed rounds. */
export function runReference(scenario: ReferenceScenario): ReferenceResult {
  const { agents, theta, sigma, maxRounds } = scenario;
  let reputation: readonly number[] = agents.map(({ rho0 }) => rho0);
  let forcedLeader: number | null = null;
  const history: ReferenceRound[] = [];
  for (let round = 0; round < maxRounds; round += 1) {
    const leader: number = forcedLeader ?? electLeader(agents, reputation, round);
    const [answer, tau] = proposalOf(at(agents, leader), round);
    const votes = collectVotes(agents, leader, answer, round);
    const aggregate = votes.reduce(
      (sum, { voter, weight }) => sum + weight * at(reputation, voter),
      tau * at(reputation, leader),
    );
    // A reputation of exactly 1 is a veto; -0.0, the rejection of an agent without confidence, is not.
    const vetoed = votes.some(({ voter, weight }) => weight < 0 && at(reputation, voter) >= 1);
    const commits = aggregate >= theta && !vetoed;
    history.push({
      round,
      leader: at(agents, leader).id,
      aggregate,
      committed: commits ? answer : null,
      slashed: commits ? [] : [at(agents, leader).id],
      votes: votes.map(({ voter, weight }) => [at(agents, voter).id, weight]),
    });
    if (commits) break;
    reputation = reputation.map((rho, index) => (index === leader ? rho * sigma : rho));
    forcedLeader = strongestCounterProposer(votes, reputation);
  }
  const last = history.at(-1);
  return {
    committed: (last?.committed ?? null) !== null,
    value: last?.committed ?? null,
    leader: last?.leader ?? null,
    rounds: history.length,
    finalReputation: Object.fromEntries(agents.map(({ id }, index) => [id, at(reputation, index)])),
    history,
  };
}

/** Runs the same question `tasks` times; only reputation carries over. */
export function runReferenceSequence(scenario: ReferenceScenario, tasks: number): readonly ReferenceResult[] {
  const results: ReferenceResult[] = [];
  let agents = scenario.agents;
  for (let task = 0; task < tasks; task += 1) {
    const result = runReference({ ...scenario, agents });
    results.push(result);
    agents = agents.map((agent) => ({ ...agent, rho0: result.finalReputation[agent.id] as number }));
  }
  return results;
}

/** argmax of tau * rho, first maximum. */
function electLeader(agents: readonly ReferenceAgent[], reputation: readonly number[], round: number): number {
  const weights = agents.map((agent, index) => proposalOf(agent, round)[1] * at(reputation, index));
  return weights.reduce((best, weight, index) => (weight > at(weights, best) ? index : best), 0);
}

function proposalOf(agent: ReferenceAgent, round: number): readonly [answer: string, tau: number] {
  return "props" in agent ? at(agent.props, Math.min(round, agent.props.length - 1)) : [agent.answer, agent.tau];
}

function collectVotes(
  agents: readonly ReferenceAgent[],
  leader: number,
  answer: string,
  round: number,
): readonly Vote[] {
  return agents.flatMap((agent, voter) => (voter === leader ? [] : [{ voter, weight: voteOf(agent, answer, round) }]));
}

function voteOf(agent: ReferenceAgent, answer: string, round: number): number {
  if ("votes" in agent) return at(agent.votes, Math.min(round, agent.votes.length - 1));
  const accepts = agent.byzantine || (agent.accept ?? [agent.answer]).includes(answer);
  return accepts ? agent.tau : -agent.tau;
}

/**
 * Returns who rejected with the most weight, by the reputation after the slash, first minimum; null if nobody
 * rejected.
 */
function strongestCounterProposer(votes: readonly Vote[], reputation: readonly number[]): number | null {
  let strongest: { readonly voter: number; readonly strength: number } | null = null;
  for (const { voter, weight } of votes) {
    const strength = weight * at(reputation, voter);
    if (weight < 0 && (strongest === null || strength < strongest.strength)) strongest = { voter, strength };
  }
  return strongest?.voter ?? null;
}

/** Callers pass indexes in range; an agent without proposals or votes is refused. */
function at<T>(items: readonly T[], index: number): T {
  if (index < 0 || index >= items.length) throw new RangeError(`mbft reference: no entry ${index}`);
  return items[index] as T;
}
