import { canonicalAnswer } from "../../request/answer.ts";
import { letter } from "../../request/kinds.ts";
import { saidNonAnswer } from "../../request/non-answers.ts";
import { outcomeFrom } from "../../phases/outcome.ts";
import { outcomesOf, type Blind, type Decided } from "../../phases/pay.ts";
import type { AssessedRound } from "../../phases/phased-rules.ts";
import { blindIn } from "../../phases/proposals.ts";
import { isSupermajority } from "../../quorum.ts";
import { equivocatorsIn, type RoundBook } from "../../phases/round-book.ts";
import { ONE_PPM, type Attempt, type Ppm, type SeatIndex } from "../../types.ts";
import { gradePolicies, isReflectionOver, assessTurn, type Turn } from "./rules.ts";

/** What rounds leave behind for later ones. */
export interface UnanimousCarry {
  readonly turns: readonly Turn[];
  /** PY7: the answers of the first turn; null before it was assessed. */
  readonly blind: Blind | null;
  /** Slashes per seat so far. */
  readonly slashes: readonly number[];
  /** True if the next round is the conclusion round. */
  readonly concluding: boolean;
}

type Winner = Decided & { readonly confidence: Ppm };

export function initialCarry(attempt: Attempt): UnanimousCarry {
  return { turns: [], blind: null, slashes: attempt.committee.map(() => 0), concluding: false };
}

/** UN2: true for policies, which are prioritised; all other kinds are definitive. The request fixes it. */
export function isPrioritised(attempt: Attempt): boolean {
  return attempt.request.terms.kind === "policies";
}

/** UN10, UN11, UN14: a turn decides, leads to another turn or to the conclusion round, or ends the deliberation as Hung. */
export function assessUnanimousRound(
  book: RoundBook,
  carry: UnanimousCarry,
  maxTurns: number,
): AssessedRound<UnanimousCarry> {
  const { attempt, round } = book;
  const turn = assessTurn(book, carry.turns);
  const slashes = addSlashes(carry.slashes, equivocatorsIn(book));
  const turns = [...carry.turns, turn];
  const blind = carry.blind ?? blindIn(book);
  const end = (winner: Winner | null): AssessedRound<UnanimousCarry> => ({
    // PH7: other seats may have gone on from here; their next round is a conclusion round again.
    carry: { turns, blind, slashes, concluding: carry.concluding },
    outcome: outcomeFrom(attempt, { winner, blind, slashes, completed: turn.candidates.map(({ seat }) => seat) }),
  });
  if (!isPrioritised(attempt)) {
    const winner = agreement(turn);
    return winner === null && round < maxTurns ? next({ turns, blind, slashes, concluding: false }) : end(winner);
  }
  if (carry.concluding) {
    const winner = graded(attempt, turn);
    return winner === null && round <= maxTurns ? next({ turns, blind, slashes, concluding: true }) : end(winner);
  }
  const concluding = round >= maxTurns || isReflectionOver(attempt, turn, carry.turns);
  return next({ turns, blind, slashes, concluding });
}

function next(carry: UnanimousCarry): AssessedRound<UnanimousCarry> {
  return { carry, outcome: null };
}

/** UN9: confidence is 1 if no seat that answered holds out, else the part of the seats that agree. */
function agreement({ unanimous, candidates }: Turn): Winner | null {
  if (unanimous === null) return null;
  const { representative, seats } = unanimous;
  const confidence = Math.floor((seats.length * ONE_PPM) / candidates.length) as Ppm;
  return { answer: representative, confidence, alike: outcomesOf(candidates, seats) };
}

/** UN13: the accepted policies of the conclusion round, or its non-answer; null unless more than 2/3 of the seats took part. */
function graded(attempt: Attempt, { candidates }: Turn): Winner | null {
  const seats = attempt.committee.length;
  if (!isSupermajority(candidates.length, seats)) return null;
  const { accepted, confidence, named, nonAnswer } = gradePolicies(attempt, candidates);
  const isHigh = attempt.request.terms.assurance === "high";
  const support = nonAnswer === null ? accepted.map((policy) => named[policy] as number) : [nonAnswer.seats];
  if (isHigh && !support.every((votes) => isSupermajority(votes, seats))) return null;
  const answer = nonAnswer
    ? saidNonAnswer(nonAnswer.name)
    : canonicalAnswer(attempt.request, accepted.map(letter).join(","));
  if (answer === null || confidence === null) return null;
  return { answer, confidence, alike: [] };
}

function addSlashes(slashes: readonly number[], seats: readonly SeatIndex[]): readonly number[] {
  return slashes.map((count, seat) => (seats.includes(seat as SeatIndex) ? count + 1 : count));
}
