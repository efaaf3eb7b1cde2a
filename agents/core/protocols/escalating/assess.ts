import type { AnswerGroup } from "../../request/answer.ts";
import { withEquivocators } from "../../phases/chair.ts";
import { outcomeFrom } from "../../phases/outcome.ts";
import { NOBODY_BLIND, outcomesOf } from "../../phases/pay.ts";
import type { AssessedRound } from "../../phases/phased-rules.ts";
import { blindIn, candidatesOf, type Candidate } from "../../phases/proposals.ts";
import { equivocatorsIn, type RoundBook } from "../../phases/round-book.ts";
import type { Attempt, Outcome } from "../../types.ts";
import { initialCarry as initialMbft, assessMbftRound, type MbftCarry } from "../mbft/conclude.ts";
import { applySlashes } from "../mbft/rules.ts";
import { acceptedOf, agreementIn, isContested } from "./rules.ts";
import { COUNCIL, levelAt, ROUNDS } from "./levels.ts";

export interface EscalatingCarry {
  /** ES6: true if the council's answers are debated before mbft. */
  readonly isContested: boolean;
  /** Reputations and slashes so far, and the mbft round before. */
  readonly mbft: MbftCarry;
}

export function initialCarry(attempt: Attempt): EscalatingCarry {
  return { isContested: false, mbft: initialMbft(attempt) };
}

export function assessEscalatingRound(book: RoundBook, carry: EscalatingCarry): AssessedRound<EscalatingCarry> {
  return levelAt(book.round) === "council" ? assessCouncil(book, carry) : assessMbft(book, carry);
}

function assessCouncil(book: RoundBook, carry: EscalatingCarry): AssessedRound<EscalatingCarry> {
  const { attempt } = book;
  const candidates = candidatesOf(book, "closed");
  const agreement = agreementIn(book, candidates, "closed");
  const mbft = { ...slashEquivocators(book, carry.mbft), blind: blindIn(book) };
  const accepted = acceptedOf(attempt, agreement);
  return {
    carry: { mbft, isContested: isContested(attempt, agreement) },
    outcome: accepted && accept(attempt, accepted, candidates, mbft),
  };
}

/** ES7, ES8: after a debate its answers may be accepted as they are; else they are the proposals of mbft's first round. */
function assessMbft(book: RoundBook, carry: EscalatingCarry): AssessedRound<EscalatingCarry> {
  const { attempt, round } = book;
  const judged = assessMbftRound(book, carry.mbft, round + 1 === ROUNDS);
  const next = { ...carry, mbft: judged.carry };
  if (isDebate(round, carry)) {
    const answers = candidatesOf(book, "closed");
    const accepted = acceptedOf(attempt, agreementIn(book, answers, "closed"));
    if (accepted !== null)
      return { carry: next, outcome: accept(attempt, accepted, answers, slashEquivocators(book, carry.mbft)) };
  }
  return { carry: next, outcome: judged.outcome };
}

/** ES7: true if the round's proposals are the last answers of a debate. */
export function isDebate(round: number, carry: EscalatingCarry): boolean {
  return carry.isContested && round === COUNCIL + 1;
}

/** ES9: decides for an accepted answer. */
function accept(
  attempt: Attempt,
  accepted: AnswerGroup,
  candidates: readonly Candidate[],
  { slashes, blind }: MbftCarry,
): Outcome {
  const { representative, seats } = accepted;
  const winner = {
    answer: representative,
    alike: outcomesOf(candidates, seats),
  };
  return outcomeFrom(attempt, {
    winner,
    blind: blind ?? NOBODY_BLIND,
    slashes,
    completed: candidates.map(({ seat }) => seat),
  });
}

/** PH8, ES10: a seat that said two things in one slot is slashed once per round, and weighs less afterwards. */
function slashEquivocators(book: RoundBook, carry: MbftCarry): MbftCarry {
  const now = withEquivocators(
    book.attempt.committee.map(() => 0),
    book,
  );
  if (equivocatorsIn(book).length === 0) return carry;
  return {
    ...carry,
    reputations: applySlashes(carry.reputations, now),
    slashes: carry.slashes.map((count, seat) => count + (now[seat] as number)),
  };
}
