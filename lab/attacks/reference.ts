import { runReference, type ReferenceResult, type ScriptedAgent } from "../references/mbft.ts";
import { RIGHT, TAU, type Role, type Trial } from "./trial.ts";

/** The published engine's defaults. */
export const REFERENCE_SIGMA = 0.5;
export const REFERENCE_ROUNDS = 4;
/** theta = .6 n tau: an assumption of the study. */
export const REFERENCE_THETA = 0.6;
/**
 * Confidence so low that nobody promotes it: a stealth vetoer does not lead, hence is not slashed and keeps its veto
 * until honest reputation is gone.
 */
const STEALTH_TAU = 0.01;
const MISTAKEN_TAU = 0.3;

/** Runs the reference on a trial. Votes depend on the leader, so they are computed round by round. */
export function playReference(trial: Trial, maxRounds: number = REFERENCE_ROUNDS): ReferenceResult {
  const { roles } = trial;
  const votes: number[][] = roles.map(() => []);
  const run = (rounds: number): ReferenceResult => {
    const agents = roles.map((role, seat): ScriptedAgent => {
      const cast = votes[seat] as number[];
      return { id: idOf(seat), props: [[trial.answer(seat, 0), tauOf(role)]], votes: [...cast, 0], rho0: 1 };
    });
    const theta = REFERENCE_THETA * roles.length * TAU;
    return runReference({ agents, theta, sigma: REFERENCE_SIGMA, maxRounds: rounds });
  };
  for (let round = 0; round < maxRounds; round++) {
    // The leader of a round depends on the rounds before it alone.
    const leader = run(round + 1).history[round]?.leader;
    if (leader === undefined) break;
    const led = roles.findIndex((_, seat) => idOf(seat) === leader);
    const answer = trial.answer(led, 0);
    roles.forEach((role, seat) => votes[seat]?.push(voteOf(trial, role, seat, answer, round)));
  }
  return run(maxRounds);
}

function idOf(seat: number): string {
  return `a${seat}`;
}

function tauOf(role: Role): number {
  return role === "stealth" ? STEALTH_TAU : role === "mistaken" ? MISTAKEN_TAU : TAU;
}

/**
 * Signed weight of a vote. Every seat that is not honest holds the lie; on the truth liars abstain and the others
 * reject.
 */
function voteOf(trial: Trial, role: Role, seat: number, answer: string, time: number): number {
  const tau = tauOf(role);
  if (role !== "honest") return answer !== RIGHT ? tau : role === "liar" ? 0 : -tau;
  if (trial.answer(seat, 0) === answer) return tau;
  const verdict = trial.again(seat, answer, time);
  return verdict === "for" ? tau : verdict === "against" ? -tau : 0;
}
