import { isSameAnswer } from "../../request/answer.ts";
import { compareHex, concat, hexToBytes, sha256, word } from "../../encoding/bytes.ts";
import { MEDIAN_UNIT, geometricMedian } from "./geometric-median.ts";
import { outcomeFrom } from "../../phases/outcome.ts";
import type { Blind } from "../../phases/pay.ts";
import type { AssessedRound } from "../../phases/phased-rules.ts";
import { blindIn, candidatesOf, revealForm, type Candidate } from "../../phases/proposals.ts";
import { shownAnswer } from "../../phases/reasons.ts";
import { isMajority, isSupermajority } from "../../quorum.ts";
import { deliveries, vouchForm, type Broadcast } from "../../phases/reliable-broadcast.ts";
import { equivocatorsIn, type RoundBook, type Closure } from "../../phases/round-book.ts";
import { TOTAL_MAX, scoreForm, totalOf, type Marks, type Scores } from "../../phases/scores.ts";
import { ONE_PPM, type Attempt, type Digest, type Ppm, type SeatIndex } from "../../types.ts";
import { ROUNDS, rolesOf } from "./roles.ts";

/** The phases of a round after COMMIT and REVEAL. */
export const SCORE = 12;
export const answerBroadcast: Broadcast<unknown> = {
  sent: revealForm,
  echo: vouchForm("echo", 10),
  ready: vouchForm("ready", 11),
};
export const scoreBroadcast: Broadcast<Scores> = {
  sent: scoreForm(SCORE),
  echo: vouchForm("echo of scores", 13),
  ready: vouchForm("ready of scores", 14),
};

/** LL8: the least total, of 100 marks, with which an evaluator approves an answer; neutral is 50. */
export const APPROVED = 60;

export interface LeaderlessCarry {
  /** Slashes per seat so far. */
  readonly slashes: readonly number[];
  /** PY7: the answers of the first workers; null before their round was assessed. */
  readonly blind: Blind | null;
}

export function initialCarry({ committee }: Attempt): LeaderlessCarry {
  return { slashes: committee.map(() => 0), blind: null };
}

/** The evaluators' rating of one worker's answer. */
export interface Rating {
  readonly candidate: Candidate;
  readonly approvers: readonly SeatIndex[];
  /** Robust score: the sum of the geometric median's coordinates, in 1/1000 of a mark; 0 without marks. */
  readonly score: number;
}

/** LL5: the workers' answers that reliable broadcast delivered, in seat order. */
export function answersOf(book: RoundBook, closure: Closure): readonly Candidate[] {
  const { workers } = rolesOf(book.attempt, book.round);
  const delivered = new Set(deliveries(book, answerBroadcast, closure).map(({ digest }) => digest));
  return candidatesOf(book, "closed").filter(({ seat, target }) => workers.includes(seat) && delivered.has(target));
}

/** LL7, LL8, LL9, LL10: rates every answer by the marks of all evaluators whose scores were delivered. */
export function ratingsOf(book: RoundBook): readonly Rating[] {
  const sheets = deliveries(book, scoreBroadcast, "closed");
  return answersOf(book, "closed").map((candidate) => {
    const given = sheets.flatMap(({ seat, body }) => {
      const marks = marksFor(body, candidate.target);
      return marks === null ? [] : [{ seat, marks }];
    });
    const approvers = given.filter(({ marks }) => totalOf(marks) >= APPROVED).map(({ seat }) => seat);
    return { candidate, approvers, score: robustScore(given.map(({ marks }) => marks)) };
  });
}

function marksFor({ scores }: Scores, target: Digest): Marks | null {
  return scores.find((score) => score.target === target)?.marks ?? null;
}

/**
 * LL8: true if more than 1/2 of all evaluators approve the answer, counting those without marks; at high assurance more than 2/3 of
 * all seats must stand behind it, too.
 */
function mayWin(attempt: Attempt, evaluators: number, ratings: readonly Rating[], rating: Rating): boolean {
  if (!isMajority(rating.approvers.length, evaluators)) return false;
  if (attempt.request.terms.assurance === "normal") return true;
  return isSupermajority(supportersOf(attempt, ratings, rating).length, attempt.committee.length);
}

/** LL10: the sum of the five coordinates of the geometric median, in 1/1000 of a mark. */
export function robustScore(marks: readonly Marks[]): number {
  return marks.length === 0 ? 0 : geometricMedian(marks).reduce((sum, coordinate) => sum + coordinate, 0);
}

/** LL12: the best answer that may win; ties go to the largest hash. Equal answers are rated one by one, and the best of them counts. */
export function bestOf(attempt: Attempt, evaluators: number, ratings: readonly Rating[]): Rating | null {
  let best: Rating | null = null;
  for (const rating of ratings) {
    const isAhead = best === null || isBetter(attempt, rating, best);
    if (isAhead && mayWin(attempt, evaluators, ratings, rating)) best = rating;
  }
  return best;
}

function isBetter(attempt: Attempt, rating: Rating, best: Rating): boolean {
  if (rating.score !== best.score) return rating.score > best.score;
  return compareHex(tieBreak(attempt, rating.candidate), tieBreak(attempt, best.candidate)) > 0;
}

/**
 * LL12: stands for the paper's hash(answer || last block hash). An attempt contains no block hash, but the committee that the chain
 * drew by one. So it is sha256(outcome || request || attempt || agent ids in seat order).
 */
export function tieBreak({ request, attempt, committee }: Attempt, { answer }: Candidate): Digest {
  const drawn = committee.map(({ agentId }) => word(BigInt(agentId)));
  return sha256(concat(hexToBytes(answer.outcome), word(request.id), word(BigInt(attempt)), ...drawn));
}

/** LL13, LL14, LL15: the winner of a round, the shares and the slashes. */
export function assessLeaderlessRound(book: RoundBook, before: LeaderlessCarry): AssessedRound<LeaderlessCarry> {
  const { attempt, round } = book;
  const slashes = before.slashes.map(
    (count, seat) => count + (equivocatorsIn(book).includes(seat as SeatIndex) ? 1 : 0),
  );
  const ratings = ratingsOf(book);
  const blind = before.blind ?? blindIn(book, answersOf(book, "closed"));
  const carry = { slashes, blind };
  const best = bestOf(attempt, rolesOf(attempt, round).evaluators.length, ratings);
  if (best === null && round + 1 < ROUNDS) return { carry, outcome: null };
  const winner = best && {
    answer: best.candidate.answer,
    confidence: Math.floor((best.score * ONE_PPM) / (TOTAL_MAX * MEDIAN_UNIT)) as Ppm,
    alike: [],
  };
  const completed = completedIn(book, ratings);
  return { carry, outcome: outcomeFrom(attempt, { winner, blind, slashes, completed, fewBlind: true }) };
}

/** PH14: the evaluators and seats behind each worker's answer, and how many are needed (LL8). */
export function explainLeaderless(book: RoundBook): readonly string[] {
  const { attempt, round } = book;
  const { evaluators } = rolesOf(attempt, round);
  const ratings = ratingsOf(book);
  return ratings.map((rating) => {
    const { candidate, approvers } = rating;
    const answer = `${shownAnswer(candidate.answer.text)} of seat ${candidate.seat}`;
    const approved = `approved by ${approvers.length} of ${evaluators.length} evaluators, more than 1/2 needed`;
    if (attempt.request.terms.assurance === "normal") return `${answer}: ${approved}`;
    const behind = supportersOf(attempt, ratings, rating).length;
    return `${answer}: ${approved}; ${behind} of ${attempt.committee.length} seats behind it, more than 2/3 needed`;
  });
}

/** Seats that stand behind an answer: workers that gave it, and evaluators that approved it from any worker. */
function supportersOf(
  attempt: Attempt,
  ratings: readonly Rating[],
  { candidate: { answer } }: Rating,
): readonly SeatIndex[] {
  const { terms } = attempt.request;
  const same = ratings.filter(({ candidate }) => isSameAnswer(terms, candidate.answer, answer));
  return [...new Set(same.flatMap(({ candidate, approvers }) => [candidate.seat, ...approvers]))];
}

/** LL15: workers whose answer was delivered, and evaluators whose scores were delivered, with marks if there was an answer to mark. */
function completedIn(book: RoundBook, ratings: readonly Rating[]): readonly SeatIndex[] {
  const targets = ratings.map(({ candidate }) => candidate.target);
  const evaluators = deliveries(book, scoreBroadcast, "closed").filter(
    ({ body }) => targets.length === 0 || targets.some((target) => marksFor(body, target) !== null),
  );
  return [...ratings.map(({ candidate }) => candidate.seat), ...evaluators.map(({ seat }) => seat)];
}
