import { limits } from "../../agents/core/limits.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { emptyTally, type Tally } from "../../agents/core/seat/tally.ts";
import type { Assurance, Outcome } from "../../agents/core/types.ts";
import { addRound, attemptFor, type SeatActs } from "../../test/support/message-set.ts";
import { RIGHT, WRONG, type Role, type Trial } from "./trial.ts";

const HIGH = 900_000;
const LOW = 300_000;

export interface SoundPlay {
  /** Decision of round 0 alone; null = it does not decide. */
  readonly single: string | null;
  /** Decision within at most R rounds. */
  readonly value: string | null;
  readonly rounds: number;
  /** Confidence of the conclusion. */
  readonly outcome: Outcome;
}

/** Plays a trial under the real rules: builds message sets, and lets `mbft.conclude` conclude at each assurance. */
export function playSound(trial: Trial): Readonly<Record<Assurance, SoundPlay>> {
  const sets: Tally[] = [];
  const through = (round: number): Tally => {
    sets[round] ??= addRound(sets[round - 1] ?? emptyTally, attemptAt("normal"), round, actsOf(trial, round));
    return sets[round];
  };
  const attemptAt = (assurance: Assurance) => attemptFor(mbft.code, trial.roles.length, assurance);
  const play = (assurance: Assurance): SoundPlay => {
    const attempt = attemptAt(assurance);
    let single: string | null = null;
    for (let round = 0; round < limits.deliberationRounds; round++) {
      const conclusion = mbft.conclude(attempt, through(round));
      if (conclusion.kind === "open") continue;
      const { outcome } = conclusion;
      const value = outcome.status === "decided" ? outcome.answer : null;
      if (round === 0) single = value;
      return { single, value, rounds: round + 1, outcome };
    }
    throw new Error("mbft concludes after its last round");
  };
  return { normal: play("normal"), high: play("high") };
}

/** Returns the messages of all seats in one round. A class is named by the first seat that holds its answer. */
export function actsOf(trial: Trial, round: number): readonly SeatActs[] {
  const { roles } = trial;
  const answers = roles.map((_, seat) => trial.answer(seat, round));
  const classes = [RIGHT, WRONG].filter((answer) => answers.includes(answer));
  const votes = roles.map((role, seat) =>
    classes
      .filter((answer) => answer !== answers[seat])
      .map((answer) => ({
        accused: answers.indexOf(answer),
        verdict: verdictOf(trial, role, seat, answer, round),
        tier: tierOf(role),
      })),
  );
  const counterProofs = votes.flatMap((list, author) =>
    list.filter(({ verdict }) => verdict === "reject").map(({ accused }) => ({ author, accused })),
  );
  return roles.map((role, seat) => ({
    answer: answers[seat] as string,
    tier: tierOf(role),
    votes: votes[seat] as SeatActs["votes"],
    judgements: counterProofs
      .filter(({ author }) => author !== seat)
      .map(({ author, accused }) => ({
        author,
        accused,
        verdict: judgementOf(trial, role, seat, author, answers[accused] as string, round),
      })),
  }));
}

function tierOf(role: Role): number {
  return role === "stealth" || role === "mistaken" ? LOW : HIGH;
}

function verdictOf(trial: Trial, role: Role, seat: number, answer: string, round: number) {
  // Every seat that is not honest holds the lie; on the truth liars abstain and the others reject.
  if (role !== "honest") return role === "liar" ? "abstain" : "reject";
  const verdict = trial.verdict(seat, answer, round);
  return verdict === "for" ? "accept" : verdict === "against" ? "reject" : "abstain";
}

function judgementOf(trial: Trial, role: Role, seat: number, author: number, against: string, round: number) {
  if (role !== "honest") return against === RIGHT ? "uphold" : "refute";
  const verdict = trial.judgement(seat, author, against, round);
  return verdict === "for" ? "uphold" : verdict === "against" ? "refute" : "abstain";
}
