import { outcomeFrom } from "../../phases/outcome.ts";
import type { Blind } from "../../phases/pay.ts";
import type { AssessedRound } from "../../phases/phased-rules.ts";
import { blindIn, candidatesOf } from "../../phases/proposals.ts";
import { shownAnswer } from "../../phases/reasons.ts";
import { counted, equivocatorsIn, type RoundBook } from "../../phases/round-book.ts";
import { voteForm } from "../../phases/votes.ts";
import type { SeatIndex } from "../../types.ts";
import { evaluateRound, supportersNeeded } from "./rules.ts";

/** CL8: the first round and a fresh one. */
export const ROUNDS = 2;

/** What the first round leaves behind for the fresh one. */
export interface CloCarry {
  /** PY7: the answers of the first round; null before it was assessed. */
  readonly blind: Blind | null;
  /** Slashes per seat so far. */
  readonly slashes: readonly number[];
}

export function initialCarry({ committee }: RoundBook["attempt"]): CloCarry {
  return { blind: null, slashes: committee.map(() => 0) };
}

/** CL8: the best class decides; without one, or if two are as good, a fresh round does. */
export function assessCloRound(book: RoundBook, before: CloCarry): AssessedRound<CloCarry> {
  const { attempt } = book;
  const { winner, isTied } = evaluateRound(book);
  const blind = before.blind ?? blindIn(book);
  const equivocators = equivocatorsIn(book);
  const slashes = before.slashes.map((count, seat) => count + (equivocators.includes(seat as SeatIndex) ? 1 : 0));
  const carry = { blind, slashes };
  if ((winner === null || isTied) && book.round + 1 < ROUNDS) return { carry, outcome: null };
  const won = winner && {
    answer: winner.class.answer,
    alike: winner.class.members.map(({ answer }) => answer.outcome),
  };
  const completed = candidatesOf(book, "closed")
    .map(({ seat }) => seat)
    .filter((seat) => counted(book, voteForm, seat, "closed") !== null);
  return { carry, outcome: outcomeFrom(attempt, { winner: won, blind, slashes, completed }) };
}

/** PH14: each answer of the round with its seats and its score, and what is needed. */
export function explainClo(book: RoundBook): readonly string[] {
  const needed = supportersNeeded(book.attempt);
  return evaluateRound(book).classes.map(({ class: one, acceptors, score }) => {
    const seats = `answered by ${one.members.length} and accepted by ${acceptors.length} seats, ${needed} needed`;
    return `${shownAnswer(one.answer.text)}: ${seats}; samples count ${one.weight}, with verdicts ${score}`;
  });
}
