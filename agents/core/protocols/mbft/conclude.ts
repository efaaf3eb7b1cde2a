import { outcomeFrom } from "../../phases/outcome.ts";
import { shownAnswer } from "../../phases/reasons.ts";
import type { AssessedRound } from "../../phases/phased-rules.ts";
import type { Blind } from "../../phases/pay.ts";
import { blindIn, candidatesOf } from "../../phases/proposals.ts";
import type { RoundBook } from "../../phases/round-book.ts";
import { explainCount } from "../../phases/votes.ts";
import type { Attempt, Ppm } from "../../types.ts";
import { mbftConfig } from "./config.ts";
import { applySlashes, evaluateRound, type RoundResult } from "./rules.ts";

/** What rounds leave behind for later ones. */
export interface MbftCarry {
  /** Reputations at the start of the round. */
  readonly reputations: readonly Ppm[];
  /** Slashes per seat so far. */
  readonly slashes: readonly number[];
  /** PY7: the answers of the first round; null before it was assessed. */
  readonly blind: Blind | null;
  /** Result of the round before; null in the first. */
  readonly result: RoundResult | null;
}

export function initialCarry(attempt: Attempt): MbftCarry {
  return {
    reputations: attempt.committee.map((info) => info.reputation),
    slashes: attempt.committee.map(() => 0),
    blind: null,
    result: null,
  };
}

/** MB15, MB17, MB18: a complete round with a winner decides. If the last round has no winner, the attempt is Hung. */
export function assessMbftRound(
  book: RoundBook,
  { reputations, slashes, blind: before }: MbftCarry,
  isLast: boolean,
): AssessedRound<MbftCarry> {
  const { attempt } = book;
  const result = evaluateRound(book, mbftConfig(attempt), reputations, candidatesOf(book, "closed"));
  const { winner, participants } = result;
  const blind = before ?? blindIn(book);
  const total = slashes.map((count, seat) => count + (result.slashes[seat] as number));
  const carry = { reputations: applySlashes(reputations, result.slashes), slashes: total, blind, result };
  if (winner === null && !isLast) return { carry, outcome: null };
  const won = winner && {
    answer: winner.class.answer,
    alike: winner.class.members.map(({ answer }) => answer.outcome),
  };
  return { carry, outcome: outcomeFrom(attempt, { winner: won, blind, slashes: total, completed: participants }) };
}

/** PH14: each answer of the round with its weight (MB1), its acceptance (MB12) and a veto (MB13), beside what is needed. */
export function explainMbft(book: RoundBook, { reputations }: MbftCarry): readonly string[] {
  const { attempt } = book;
  const config = mbftConfig(attempt);
  const { committee, request } = attempt;
  const needed = request.terms.assurance === "high" ? "more than 2/3" : "more than 1/2";
  const { classes } = evaluateRound(book, config, reputations, candidatesOf(book, "closed"));
  const byCount = explainCount(
    attempt,
    classes.map((one) => one.class),
  );
  if (byCount !== null) return byCount;
  return classes.map(({ class: one, sum, supporters, isVetoed }) => {
    const weight = `weight ${weightText(sum)} of ${weightText(config.theta)} needed`;
    const seats = `accepted by ${supporters.length} of ${committee.length} seats, ${needed} needed`;
    return `${shownAnswer(one.answer.text)}: ${weight}; ${seats}${isVetoed ? "; vetoed by an upheld counter-proof" : ""}`;
  });
}

/** A weight in units of a seat of full reputation that is certain, to two decimals, rounded down. */
function weightText(weight: bigint): string {
  const hundredths = (weight < 0n ? -weight : weight) / 10_000_000_000n;
  return `${weight < 0n ? "-" : ""}${hundredths / 100n}.${String(hundredths % 100n).padStart(2, "0")}`;
}
