import { FLAT } from "../phases/pay.ts";
import { holdsHonest } from "../quorum.ts";
import { shareOf, type Terms } from "../types.ts";
import { isSameAnswer } from "./answer.ts";
import type { DecidedRound } from "./events.ts";

/** A decision that two larger committees overturned (SC2), as `Slasher.submitOverturned` takes it: indices of rounds on record. */
export interface Overturn {
  /** The round of the decision. */
  readonly first: number;
  /** A round after it that agrees with the last one. */
  readonly second: number;
}

/** Whether a round's decision was overturned; `why` says in words why not. */
export type OverturnCheck =
  | { readonly first: number; readonly overturn: Overturn }
  | { readonly first: number; readonly overturn: null; readonly why: string };

/**
 * SC2: assesses the decision of each round but the last, as contracts/libraries/OverturnLib.sol does.
 * @param rounds all rounds of a settled request, the last of which stands
 */
export function checkOverturns(terms: Terms, rounds: readonly DecidedRound[]): readonly OverturnCheck[] {
  return rounds.slice(0, -1).map((_, first) => {
    const whys: string[] = [];
    for (let second = first + 1; second < rounds.length - 1; second += 1) {
      const why = whyNotOverturned(terms, rounds, { first, second });
      if (why === null) return { first, overturn: { first, second } };
      whys.push(why);
    }
    return { first, overturn: null, why: whys.at(-1) ?? whyAlone(terms, rounds, first) };
  });
}

/** Says why a decision with one round after it was not overturned. */
function whyAlone(terms: Terms, rounds: readonly DecidedRound[], first: number): string {
  return whyNotAgainst(terms, rounds, first) ?? "only one committee came after it";
}

/** Returns null if the last round and the second one overturned the first. */
function whyNotOverturned(terms: Terms, rounds: readonly DecidedRound[], { first, second }: Overturn): string | null {
  const against = whyNotAgainst(terms, rounds, first);
  if (against !== null) return against;
  const [wrong, middle, last] = [rounds[first], rounds[second], rounds.at(-1)];
  if (wrong === undefined || middle === undefined || last === undefined) return "the record has no such round";
  const name = attemptOf(middle);
  if (middle.decision.status !== "decided") return `${name} ${whyNoAnswer(middle)}`;
  if (wrong.committee.length >= middle.committee.length) return `the committee of ${name} is not larger`;
  if (middle.committee.length >= last.committee.length)
    return `the committee of ${attemptOf(last)} is not larger than that of ${name}`;
  if (!isSameAnswer(terms, middle.decision, last.decision)) return `${name} and ${attemptOf(last)} disagree`;
  for (const [one, ...others] of [
    [middle, wrong],
    [last, wrong, middle],
  ] as const)
    if (!judges(one, others))
      return `no more than a third of the seats of ${attemptOf(one)} were right before they saw what others answer, and are of agents that do not sit in ${others.map(attemptOf).join(" or ")}`;
  return null;
}

/** Returns why the rounds after the first, together, leave its decision as it is; null if they are all against it. */
function whyNotAgainst(terms: Terms, rounds: readonly DecidedRound[], first: number): string | null {
  const [wrong, last] = [rounds[first], rounds.at(-1)];
  if (wrong === undefined || last === undefined) return "the record has no such round";
  if (wrong.decision.status !== "decided") return `it ${whyNoAnswer(wrong)}: nobody loses stake for that`;
  if (last.decision.status !== "decided") return `${attemptOf(last)} ${whyNoAnswer(last)}`;
  const agreeing = rounds
    .slice(first + 1)
    .find(({ decision }) => decision.status === "decided" && isSameAnswer(terms, wrong.decision, decision));
  return agreeing === undefined ? null : `${attemptOf(agreeing)} agrees with it`;
}

/**
 * True if more than a third of the seats have a score for their share, so that they answered before they saw what others answer (PY4, PY6),
 * and are of agents that sit in none of the other committees.
 */
function judges({ decision: { shares }, committee }: DecidedRound, others: readonly DecidedRound[]): boolean {
  const sitting = new Set(others.flatMap((other) => other.committee.map(({ agentId }) => agentId)));
  const knowers = committee.filter(({ agentId }, seat) => shareOf(shares, seat) > FLAT && !sitting.has(agentId));
  return holdsHonest(knowers.length, committee.length);
}

/** How a committee ended that decided for no answer. */
function whyNoAnswer({ decision }: DecidedRound): string {
  return decision.status === "hung" ? "hung" : "found no answer";
}

const attemptOf = ({ decision: { attempt } }: DecidedRound): string => `attempt ${attempt}`;
