import {
  MOST_SEATS,
  CHAIR_VERSION,
  agreesWith,
  inTurn,
  refuseChaired,
  outcomeOfChair,
  synthesisCall,
  triesOf,
  withEquivocators,
  wordForm,
  wordOf,
} from "./chair.ts";
import { outcomeFrom } from "./outcome.ts";
import type { PhasedState } from "./drive.ts";
import { NOBODY_BLIND, type Blind } from "./pay.ts";
import { phased } from "./phased.ts";
import type { Call, AssessedRound, SeatView } from "./phased-rules.ts";
import { blindIn, proposalFrom, type Candidate } from "./proposals.ts";
import { explainClasses } from "./reasons.ts";
import type { Protocol } from "../protocol.ts";
import { holdsHonest, isSupermajority } from "../quorum.ts";
import { closeForm, type AnyForm, type RoundBook, type Closure } from "./round-book.ts";
import type { Attempt, SeatIndex } from "../types.ts";

/** The phase of the chair's synthesis: only the seat whose turn it is speaks. */
export const SYNTHESIS = 30;
export const synthesisForm = wordForm("synthesis", SYNTHESIS);

/** Rules of a protocol in which all seats answer in round 0 and a chair concludes. Each further round only tries another chair. */
export interface ChairedRules {
  readonly id: string;
  readonly code: number;
  readonly title: string;
  /** The phases in which the seats answer; all seats speak in each. */
  readonly forms: readonly AnyForm[];
  calls(view: SeatView<ChairedCarry>, phase: number): readonly Call[];
  say(view: SeatView<ChairedCarry>, phase: number): unknown;
  /** The last answer of every seat that gave one; `closure` says which messages count in the last phase of `forms`. */
  answers(book: RoundBook, closure: Closure): readonly Candidate[];
}

export interface ChairedCarry {
  readonly answers: readonly Candidate[];
  /** PY7: the first answers of round 0. */
  readonly blind: Blind;
  /** Number of slashes per seat. */
  readonly slashes: readonly number[];
  /** Seats that gave no synthesis in their turn as chair. */
  readonly failed: readonly SeatIndex[];
}

export function chaired(rules: ChairedRules): Protocol<PhasedState> {
  const { id, code, title } = rules;
  return phased<ChairedCarry>({
    id,
    code,
    version: CHAIR_VERSION,
    title,
    assurance: "chair",
    mostSeats: MOST_SEATS,
    refuseRequest: refuseChaired,
    rounds: triesOf,
    forms: (_, round) => (round === 0 ? [...rules.forms, synthesisForm, closeForm] : [synthesisForm, closeForm]),
    speakers: (attempt, round, phase) => (phase === SYNTHESIS ? [inTurn(attempt, round)] : null),
    initial: (attempt) => ({ answers: [], blind: NOBODY_BLIND, slashes: attempt.committee.map(() => 0), failed: [] }),
    assessRound: (book, carry) => assessChairedRound(rules, book, carry),
    explain: (book, carry, answers) => [...explainClasses(answers), ...explainChair(rules, book, carry)],
    calls: (view, phase) => (phase === SYNTHESIS ? synthesis(rules, view) : rules.calls(view, phase)),
    say: (view, phase) => (phase === SYNTHESIS ? saySynthesis(view) : rules.say(view, phase)),
  });
}

/** CH4: the chair's call over the seats' last answers; none with too few answers. */
function synthesis(rules: ChairedRules, view: SeatView<ChairedCarry>): readonly Call[] {
  const heard = view.round === 0 ? rules.answers(view.book, "open") : view.carry.answers;
  return isQuorum(view.attempt, heard) ? [synthesisCall(view, heard)] : [];
}

function saySynthesis(view: SeatView<ChairedCarry>): unknown {
  return { proposal: proposalFrom(view.attempt.request, view.answered(SYNTHESIS)[0]) };
}

/** CH6: true if an honest seat is among those that answered. */
function isQuorum(attempt: Attempt, answers: readonly Candidate[]): boolean {
  return holdsHonest(answers.length, attempt.committee.length);
}

/** PH14: why the last chair concluded nothing. */
function explainChair(rules: ChairedRules, book: RoundBook, carry: ChairedCarry): readonly string[] {
  const { attempt, round } = book;
  const answers = round === 0 ? rules.answers(book, "closed") : carry.answers;
  const seats = attempt.committee.length;
  if (!isQuorum(attempt, answers)) return [`${answers.length} of ${seats} seats gave an answer, more than 1/3 needed`];
  const turn = inTurn(attempt, round);
  return wordOf(book, synthesisForm, turn, "closed") === null
    ? [`seat ${turn}, the last chair, concluded with no answer that counts`]
    : [];
}

function assessChairedRound(rules: ChairedRules, book: RoundBook, carry: ChairedCarry): AssessedRound<ChairedCarry> {
  const { attempt, round } = book;
  const answers = round === 0 ? rules.answers(book, "closed") : carry.answers;
  const blind = round === 0 ? blindIn(book) : carry.blind;
  const slashes = withEquivocators(carry.slashes, book);
  const turn = inTurn(attempt, round);
  const failed = [...carry.failed, turn];
  const next = { answers, blind, slashes, failed };
  const completed = (besides: readonly SeatIndex[]) =>
    answers.map(({ seat }) => seat).filter((seat) => !besides.includes(seat));
  const chair = wordOf(book, synthesisForm, turn, "closed");
  const enough = isQuorum(attempt, answers);
  if (chair === null || !enough) {
    // CH5: the next seat in order tries, as long as there is one, and answers to conclude from.
    if (enough && round + 1 < triesOf(attempt)) return { carry: next, outcome: null };
    return {
      carry: next,
      outcome: outcomeFrom(attempt, { winner: null, blind, slashes, completed: completed(failed) }),
    };
  }
  const outcome = outcomeOfChair(attempt, {
    chair,
    agreeing: answers.filter((answer) => agreesWith(attempt, answer, chair)).map(({ seat }) => seat),
    of: attempt.committee.length,
    degraded: round > 0 || !isSupermajority(answers.length, attempt.committee.length),
    blind,
    slashes,
    completed: completed(carry.failed),
  });
  return { carry: next, outcome };
}
