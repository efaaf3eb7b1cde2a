import type { AnswerGroup } from "../../request/answer.ts";
import { answerClasses } from "../../phases/equivalence.ts";
import type { Candidate } from "../../phases/proposals.ts";
import { isSupermajority } from "../../quorum.ts";
import type { RoundBook, Closure } from "../../phases/round-book.ts";
import type { Attempt, Terms } from "../../types.ts";

/** Thresholds in percent of the seats that answered. */
const ACCEPT_NORMAL = 70;
const ACCEPT_HIGH = 95;
const CONTESTED = 50;

/** The agreement among the answers of a level. */
export interface Agreement {
  /** The class with the most seats; ties go to the lowest outcome. Null without answers. */
  readonly best: AnswerGroup | null;
  /** Number of seats whose answers count. */
  readonly answered: number;
}

/** ES4: answers agree by their canonical form, never by similarity. */
export function agreementIn(book: RoundBook, candidates: readonly Candidate[], closure: Closure): Agreement {
  const classes = answerClasses(book, candidates, closure);
  const best = classes.reduce<AnswerGroup | null>(
    (most, one) => (most === null || one.seats.length > most.seats.length ? one : most),
    null,
  );
  return { best, answered: candidates.length };
}

/** ES5: the accepted class: enough of the seats that answered, and more than 2/3 of all seats, so that honest seats support it. */
export function acceptedOf(attempt: Attempt, { best, answered }: Agreement): AnswerGroup | null {
  if (best === null) return null;
  const least = attempt.request.terms.assurance === "high" ? ACCEPT_HIGH : ACCEPT_NORMAL;
  const suffices = best.seats.length * 100 >= least * answered;
  return suffices && isSupermajority(best.seats.length, attempt.committee.length) ? best : null;
}

/** ES6: stakes are trivial if no contract is called back with the answer and no high assurance was asked for. */
export function isTrivial({ assurance, callbackGasLimit }: Terms): boolean {
  return assurance === "normal" && callbackGasLimit === 0;
}

/** ES6: true if the answers go to the debate. */
export function isContested(attempt: Attempt, { best, answered }: Agreement): boolean {
  return !isTrivial(attempt.request.terms) && (best?.seats.length ?? 0) * 100 < CONTESTED * answered;
}
