import { outcomeFrom } from "../../phases/outcome.ts";
import type { Blind } from "../../phases/pay.ts";
import type { AssessedRound } from "../../phases/phased-rules.ts";
import { blindIn } from "../../phases/proposals.ts";
import { shownAnswer } from "../../phases/reasons.ts";
import { counted, equivocatorsIn, type RoundBook } from "../../phases/round-book.ts";
import { explainCount, voteForm } from "../../phases/votes.ts";
import { quorumOf } from "../../quorum.ts";
import type { Attempt, SeatIndex } from "../../types.ts";
import { answersIn, classesOf, evaluateRound, supportersNeeded, tellsSamples, type CountedAnswer } from "./rules.ts";

/** CL1: the largest number of rounds. */
export function roundsOf(attempt: Attempt): number {
  return tellsSamples(attempt) ? 3 : 2;
}

/** What rounds leave behind for later ones. */
export interface CloCarry {
  /** PY7: the answers of the first round; null before it was assessed. */
  readonly blind: Blind | null;
  /** CL5: the answers of the rounds before, if those count on. */
  readonly earlier: readonly CountedAnswer[];
  /** Slashes per seat so far. */
  readonly slashes: readonly number[];
}

export function initialCarry({ committee }: RoundBook["attempt"]): CloCarry {
  return { blind: null, earlier: [], slashes: committee.map(() => 0) };
}

/** CL8: the best class decides; without one, or if two are as good, another round follows. */
export function assessCloRound(book: RoundBook, before: CloCarry): AssessedRound<CloCarry> {
  const { attempt } = book;
  const { winner, isTied } = evaluateRound(book, before.earlier);
  const own = blindIn(book);
  const blind = before.blind ?? own;
  const equivocators = equivocatorsIn(book);
  const slashes = before.slashes.map((count, seat) => count + (equivocators.includes(seat as SeatIndex) ? 1 : 0));
  const tells = tellsSamples(attempt);
  const carry = { blind, slashes, earlier: tells ? [...before.earlier, ...answersIn(book, "closed")] : [] };
  if ((winner === null || isTied) && book.round + 1 < roundsOf(attempt)) return { carry, outcome: null };
  const won = winner && {
    answer: winner.class.answer,
    alike: winner.class.members.map(({ answer }) => answer.outcome),
  };
  // CL10: what is shown late, or was committed to late, is an answer as well; what no commitment binds is none.
  const completed = tells
    ? [...own.answers, ...own.overdue.filter(({ late }) => late !== null)].map(({ seat }) => seat)
    : answersIn(book, "closed").flatMap(({ seat }) => (counted(book, voteForm, seat, "closed") === null ? [] : seat));
  return { carry, outcome: outcomeFrom(attempt, { winner: won, blind, slashes, completed }) };
}

/** PH14: each answer that counts, with its seats and its score, and what is needed. */
export function explainClo(book: RoundBook, { earlier }: CloCarry): readonly string[] {
  const { attempt } = book;
  const byCount = explainCount(attempt, classesOf(book, "closed"));
  if (byCount !== null) return byCount;
  const isTold = tellsSamples(attempt);
  const of = `of ${attempt.committee.length} seats`;
  const needed = isTold && book.round === 0 ? quorumOf(attempt.committee.length) : supportersNeeded(attempt);
  return evaluateRound(book, earlier).classes.map(({ class: one, acceptors, supporters, score }) => {
    const answer = shownAnswer(one.answer.text);
    if (isTold) return `${answer}: answered by ${supporters} ${of}, ${needed} needed; samples count ${score}`;
    const seats = `answered by ${one.members.length} and accepted by ${acceptors.length} ${of}, ${needed} needed`;
    return `${answer}: ${seats}; samples count ${one.weight}, with verdicts ${score}`;
  });
}
