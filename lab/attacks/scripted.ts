import { moved } from "../../test/support/memory-chain/rules.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { mbftBayesian } from "../../agents/core/protocols/mbft-bayesian/index.ts";
import { runBayesianReference } from "../references/mbft-bayesian.ts";
import { runReferenceSequence, type MockAgent } from "../references/mbft.ts";
import { closeForm } from "../../agents/core/phases/round-book.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import { tierOf } from "../../agents/core/phases/tiers.ts";
import type { Outcome, Ppm } from "../../agents/core/types.ts";
import { addRound, attemptFor, propose, say, type SeatActs } from "../../test/support/message-set.ts";
import { REFERENCE_ROUNDS, REFERENCE_SIGMA, playReference } from "./reference.ts";
import { playSound } from "./sound.ts";
import { RIGHT, WRONG, faultlessTrial, type Role } from "./trial.ts";

/** Result of one side, for people and for programs. */
export interface Side {
  readonly summary: string;
  /** Value of the last decision; null = none. */
  readonly value: string | null;
  readonly rounds: number;
  /** Reputation of each seat at the end. */
  readonly reputations: readonly number[];
}

export interface ScriptedAttack {
  readonly id: string;
  readonly title: string;
  readonly seats: number;
  /** Honest seats are never wrong and never fooled, unless the title says otherwise. */
  readonly reference: Side;
  readonly sound: Side;
}

export function scriptedAttacks(): readonly ScriptedAttack[] {
  return [coordinatedVetoers(), reputationCapture(), honestVeto(), certainLiar()];
}

/** MB10, MB11. */
function coordinatedVetoers(): ScriptedAttack {
  const roles: readonly Role[] = ["sacrificial", "stealth", ...honest(5)];
  const patient = 100;
  const runs = [REFERENCE_ROUNDS, patient].map((rounds) => playReference(faultlessTrial(roles), rounds));
  const stalled = runs.map((run) => `${run.rounds}`).join(" and after ");
  const [, last] = runs;
  if (last === undefined) throw new Error("a run for each bound");
  return {
    id: "coordinated-vetoers",
    title: "Two coordinated vetoers (stealth + sacrificial), n = 7",
    seats: 7,
    reference: {
      summary: last.committed
        ? `decides "${last.value}"`
        : `no commit after ${stalled} rounds; mass of honest reputation falls to ${sum(last.finalReputation, roles)} of 5`,
      value: last.value,
      rounds: last.rounds,
      reputations: Object.values(last.finalReputation),
    },
    sound: soundSide(roles),
  };
}

/** MB16: accuses every leader of a lie, then proposes the truth. */
function reputationCapture(): ScriptedAttack {
  const tasks = 7;
  const agent = (id: string, tau: number, accept: readonly string[] | null): MockAgent => {
    return { id, answer: RIGHT, tau, byzantine: false, accept, rho0: 1 };
  };
  const agents = [agent("h0", 0.95, null), agent("h1", 0.95, null), agent("h2", 0.95, null), agent("b", 0.9, [])];
  const sequence = { agents, theta: 1.01, sigma: REFERENCE_SIGMA, maxRounds: REFERENCE_ROUNDS };
  const results = runReferenceSequence(sequence, tasks);
  const reference = results.at(-1)?.finalReputation ?? {};
  let reputations: readonly Ppm[] = agents.map(() => 1_000_000 as Ppm);
  let outcome: Outcome | null = null;
  for (let task = 0; task < tasks; task++) {
    outcome = captureUnderSound(reputations);
    reputations = afterDecision(reputations, outcome);
  }
  const led = results.filter(({ leader }) => leader === "b").length;
  return {
    id: "reputation-capture",
    title: `Accuse, then propose the truth, n = 4, ${tasks} decisions in a row`,
    seats: 4,
    reference: {
      summary: `the accuser leads ${led} of ${tasks} commits; rho ${Object.values(reference).join(" ")} (accuser last)`,
      value: results.at(-1)?.value ?? null,
      rounds: results.reduce((total, { rounds }) => total + rounds, 0),
      reputations: Object.values(reference),
    },
    sound: {
      summary: `decides "${outcome?.answer ?? ""}" each time; rho ${reputations.map((rho) => (rho / 1e6).toFixed(2)).join(" ")} (accuser last)`,
      value: outcome?.answer ?? null,
      rounds: tasks,
      reputations: reputations.map((rho) => rho / 1e6),
    },
  };
}

/** The accuser must stay outside the class of the truth to accuse it, so it proposes nothing. */
function captureUnderSound(reputations: readonly Ppm[]): Outcome {
  const tier = 900_000;
  const truthful: SeatActs = {
    answer: RIGHT,
    tier,
    votes: [],
    judgements: [{ author: 3, accused: 0, verdict: "refute" }],
  };
  const accuser: SeatActs = { answer: null, tier, votes: [{ accused: 0, verdict: "reject", tier }], judgements: [] };
  const attempt = attemptFor(mbft.code, 4, "normal", reputations);
  const acts = [truthful, truthful, truthful, accuser];
  const conclusion = mbft.conclude(attempt, addRound(emptyTally, attempt, 0, acts));
  if (conclusion.kind !== "final") throw new Error("three truthful seats of four decide at once");
  return conclusion.outcome;
}

/** One honest seat, wrong at the lowest tier, counters what nine hold. */
function honestVeto(): ScriptedAttack {
  const roles: readonly Role[] = ["mistaken", ...honest(9)];
  const run = playReference(faultlessTrial(roles));
  const reputations = Object.values(run.finalReputation);
  const slashed = reputations.filter((rho, seat) => rho < 1 && roles[seat] === "honest").length;
  return {
    id: "honest-veto",
    title: "One honest, wrong, low-tier seat against nine",
    seats: 10,
    reference: {
      summary: `${run.committed ? `decides "${run.value}"` : "no commit"} after ${run.rounds} rounds; ${slashed} honest leader slashed to ${Math.min(...reputations.slice(1))}`,
      value: run.value,
      rounds: run.rounds,
      reputations,
    },
    sound: soundSide(roles),
  };
}

/** BA6: one liar that claims certainty. */
function certainLiar(): ScriptedAttack {
  const agents = Array.from({ length: 10 }, (_, index) => ({
    id: `a${index}`,
    props: [index === 0 ? ([WRONG, 1] as const) : ([RIGHT, 0.8] as const)],
    rho0: 1,
  }));
  const run = runBayesianReference({ agents, thetaPost: 0.85, logBfMin: Math.log(3), sigma: 0.7, maxRounds: 5 });
  return {
    id: "certain-liar",
    title: "One tau = 1 liar against nine at tau = .8, Bayesian",
    seats: 10,
    reference: {
      summary: run.committed
        ? `decides "${run.value}" with posterior ${run.posterior[run.value ?? ""]?.toFixed(3)}`
        : "no commit",
      value: run.value,
      rounds: run.rounds,
      reputations: Object.values(run.finalReputation),
    },
    sound: certainLiarUnderSound(),
  };
}

/** A claim of certainty becomes the highest tier of the ladder, never more. */
function certainLiarUnderSound(): Side {
  const attempt = attemptFor(mbftBayesian.code, 10, "normal");
  const reports = attempt.committee.map((_, seat) => ({
    answer: seat === 0 ? WRONG : RIGHT,
    tier: tierOf((seat === 0 ? 1_000_000 : 800_000) as Ppm),
  }));
  const revealed = propose(emptyTally, attempt, 0, reports);
  const closed = say(
    revealed,
    closeForm,
    reports.map(() => ({})),
  );
  const conclusion = mbftBayesian.conclude(attempt, closed.tally);
  if (conclusion.kind !== "final") throw new Error("mbft-bayesian concludes after its one round");
  const { status, answer } = conclusion.outcome;
  return {
    summary: status === "hung" ? "no decision" : `decides "${answer}" in round 1`,
    value: status === "hung" ? null : answer,
    rounds: 1,
    reputations: afterDecision(
      reports.map(() => 1_000_000 as Ppm),
      conclusion.outcome,
    ).map((rho) => rho / 1e6),
  };
}

/** The same roles under the sound rules at normal assurance. */
function soundSide(roles: readonly Role[]): Side {
  const { value, rounds, outcome } = playSound(faultlessTrial(roles)).normal;
  const reputations = afterDecision(
    roles.map(() => 1_000_000 as Ppm),
    outcome,
  );
  const slashed = outcome.reputationChanges.filter(({ steps }) => steps < 0).map(({ seat }) => roles[seat] as Role);
  const hurt = slashed.length === 0 ? "nobody" : slashed.join(" and ");
  return {
    summary: `${value === null ? "no decision" : `decides "${value}"`} in round ${rounds}; slashed: ${hurt}`,
    value,
    rounds,
    reputations: reputations.map((rho) => rho / 1e6),
  };
}

function afterDecision(reputations: readonly Ppm[], { reputationChanges }: Outcome): readonly Ppm[] {
  return reputations.map((rho, seat) => moved(rho, reputationChanges.find((one) => one.seat === seat)?.steps ?? 0));
}

function honest(count: number): readonly Role[] {
  return Array.from({ length: count }, () => "honest");
}

function sum(reputation: Readonly<Record<string, number>>, roles: readonly Role[]): string {
  const kept = Object.values(reputation).filter((_, seat) => roles[seat] === "honest");
  return kept.reduce((total, rho) => total + rho, 0).toFixed(2);
}
