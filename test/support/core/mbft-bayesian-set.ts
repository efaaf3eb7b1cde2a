import assert from "node:assert/strict";
import { mbftBayesian } from "../../../agents/core/protocols/mbft-bayesian/index.ts";
import { CLOSE, closeForm } from "../../../agents/core/phases/round-book.ts";
import { emptyTally, type Tally } from "../../../agents/core/seat/tally.ts";
import type { Attempt, Outcome, Terms } from "../../../agents/core/types.ts";
import { propose, say, type Answering, type Saying } from "../message-set.ts";
import { attemptOf } from "./committee.ts";

export const CODE = 2;
export const LOW = 300_000;
export const MEDIUM = 700_000;
export const HIGH = 900_000;

export const attemptFor = (n: number, terms: Partial<Terms> = {}, reputations: readonly number[] = []): Attempt =>
  attemptOf(n, { protocol: CODE, ...terms }, reputations);
export const report = (answer: string | null, tier = HIGH): Answering => ({ answer, tier });
export const reports = (n: number, of: (seat: number) => Answering): readonly Answering[] =>
  Array.from({ length: n }, (_, seat) => of(seat));
export const closed = (revealed: Saying, holds?: (seat: number, of: number) => boolean): Tally =>
  say(
    revealed,
    closeForm,
    revealed.attempt.committee.map(() => ({})),
    holds,
  ).tally;

/** BA1: the outcome of a round with these reports; of a second one with the same if the first decides nothing. */
export function outcomeOf(attempt: Attempt, answers: readonly Answering[]): Outcome {
  return lastOf(attempt, (tally, round) => closed(propose(tally, attempt, round, answers)));
}

/** BA1: the outcome of a round, or of the second if the first decides nothing. */
export function lastOf(attempt: Attempt, add: (tally: Tally, round: number) => Tally): Outcome {
  const first = add(emptyTally, 0);
  const isOver = mbftBayesian.conclude(attempt, first).kind === "final";
  return isOver ? concluded(attempt, first) : concluded(attempt, add(first, 1), 1);
}

export function concluded(attempt: Attempt, tally: Tally, round = 0): Outcome {
  const conclusion = mbftBayesian.conclude(attempt, tally);
  if (conclusion.kind !== "final") throw new Error("the set is open");
  assert.deepEqual(conclusion.through, { round, phase: CLOSE });
  return conclusion.outcome;
}

export const decision = ({ status, answer }: Outcome): string => (status === "decided" ? answer : status);
