import { isSameAnswer, type AnswerGroup } from "../../request/answer.ts";
import { policiesOf } from "../../request/kinds.ts";
import { nonAnswerIn } from "../../request/non-answers.ts";
import { answerClasses } from "../../phases/equivalence.ts";
import { seatsOf } from "../../seat/order.ts";
import { candidatesOf, type Candidate } from "../../phases/proposals.ts";
import { isMajority, isSupermajority } from "../../quorum.ts";
import { equivocatorsIn, type RoundBook } from "../../phases/round-book.ts";
import { ONE_PPM, type Attempt, type NonAnswer, type Ppm, type SeatIndex, type Terms } from "../../types.ts";
import { HEARD_TURNS, THETA_PPM } from "./config.ts";

/** Why a seat does not count towards unanimity in a turn (UN6). */
export type Exclusion =
  /** It equivocated. */
  | "void"
  /** It has no answer that counts. */
  | "silent"
  /** It repeats its answer against all others, without a new argument (UN7). */
  | "fixated"
  /** The others heard it out for `HEARD_TURNS` turns. */
  | "heard";

/** One turn: its answers and the seats that count. */
export interface Turn {
  readonly round: number;
  /** The answers that count, in seat order. */
  readonly candidates: readonly Candidate[];
  /** The class of more than 2/3 of all seats; null without one. */
  readonly leading: AnswerGroup | null;
  /** Per seat, why it does not count; null if it counts. */
  readonly exclusions: readonly (Exclusion | null)[];
  /** The members of `leading`, if every other seat is excluded. */
  readonly unanimous: AnswerGroup | null;
}

/** UN6 to UN9: assesses one turn in the light of the earlier ones. */
export function assessTurn(book: RoundBook, before: readonly Turn[]): Turn {
  const { attempt, round } = book;
  const { terms } = attempt.request;
  const candidates = candidatesOf(book, "closed");
  const seats = attempt.committee.length;
  // UN6: more than 2/3 of all seats, excluded ones included.
  const leading =
    answerClasses(book, candidates, "closed").find((group) => isSupermajority(group.seats.length, seats)) ?? null;
  const isHeard = leading !== null && standsSince(before) + 1 >= HEARD_TURNS;
  const voided = equivocatorsIn(book);
  const exclusions = seatsOf(attempt).map((seat): Exclusion | null => {
    const candidate = candidates.find((one) => one.seat === seat);
    if (candidate === undefined) return voided.includes(seat) ? "void" : "silent";
    if (leading === null || leading.seats.includes(seat)) return null;
    if (voided.includes(seat)) return "void";
    if (isFixated(terms, candidate, before)) return "fixated";
    return isHeard ? "heard" : null;
  });
  const agreed = leading !== null && seatsOf(attempt).every((seat) => counts(exclusions, leading, seat));
  return { round, candidates, leading, exclusions, unanimous: agreed ? leading : null };
}

function counts(exclusions: Turn["exclusions"], leading: AnswerGroup, seat: SeatIndex): boolean {
  return leading.seats.includes(seat) || exclusions[seat] !== null;
}

/** Number of turns up to the last one in which more than 2/3 of all seats agreed, without a gap. */
function standsSince(before: readonly Turn[]): number {
  const gap = before.findLastIndex((turn) => turn.leading === null);
  return before.length - 1 - gap;
}

/** UN7: true if the seat held the same answer in the turn before, and has no argument that it did not give before. */
function isFixated(terms: Terms, { seat, answer, proof }: Candidate, before: readonly Turn[]): boolean {
  const last = before.at(-1);
  const held = last === undefined ? undefined : ownIn(last, seat);
  if (!last?.leading || last.leading.seats.includes(seat) || held === undefined) return false;
  if (!isSameAnswer(terms, held.answer, answer)) return false;
  const argument = argumentOf(proof);
  return argument === "" || before.some((turn) => argumentOf(ownIn(turn, seat)?.proof ?? "") === argument);
}

function ownIn(turn: Turn, seat: SeatIndex): Candidate | undefined {
  return turn.candidates.find((one) => one.seat === seat);
}

/** The form in which arguments are compared: without ASCII case, spacing and punctuation. */
function argumentOf(proof: string): string {
  return proof.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()).replace(/[^0-9a-z\u0080-\uffff]+/g, "");
}

/** Graded consensus on policies (Def. IX.5). */
export interface Graded {
  /** |h|: number of seats whose answer counts, as far as it can be observed (UN6). */
  readonly counted: number;
  /** Per policy, 0 = A: the number of them that name it. */
  readonly named: readonly number[];
  /** Policies with A >= theta, ascending. */
  readonly accepted: readonly number[];
  /** The non-answer that more than half of them give; null without one. With one no policy is accepted. */
  readonly nonAnswer: { readonly name: NonAnswer; readonly seats: number } | null;
  /** Mean of A over the accepted policies, or A of the non-answer; null without any (UN13). */
  readonly confidence: Ppm | null;
}

/** UN12: A(policy) = named / counted; a policy is accepted if A >= theta. Who gives a non-answer names no policy. */
export function gradePolicies(attempt: Attempt, candidates: readonly Candidate[]): Graded {
  const { options } = attempt.request.terms;
  const sets = candidates.map(({ answer }) => (nonAnswerIn(answer) === null ? policiesOf(answer.outcome) : []));
  const counted = sets.length;
  const named = Array.from({ length: options }, (_, policy) => sets.filter((set) => set.includes(policy)).length);
  const accepted = named.flatMap((votes, policy) =>
    votes > 0 && votes * ONE_PPM >= THETA_PPM * counted ? [policy] : [],
  );
  const votes = accepted.reduce((sum, policy) => sum + (named[policy] as number), 0);
  const nonAnswer = nonAnswerOfMost(candidates);
  const parts = nonAnswer === null ? { of: accepted.length, votes } : { of: 1, votes: nonAnswer.seats };
  const confidence = parts.of === 0 ? null : (Math.floor((parts.votes * ONE_PPM) / (counted * parts.of)) as Ppm);
  return { counted, named, accepted, nonAnswer, confidence };
}

function nonAnswerOfMost(candidates: readonly Candidate[]): Graded["nonAnswer"] {
  const given = candidates.flatMap(({ answer }) => nonAnswerIn(answer) ?? []);
  for (const name of new Set(given)) {
    const seats = given.filter((one) => one === name).length;
    if (isMajority(seats, candidates.length)) return { name, seats };
  }
  return null;
}

/** What a grading comes to, to compare it with the turn's before; empty without anything accepted. */
function gradeText({ accepted, nonAnswer }: Graded): string {
  return nonAnswer?.name ?? accepted.join();
}

/** UN11: reflection ends when all seats name the same set, or when what is accepted outlasts a turn. */
export function isReflectionOver(attempt: Attempt, turn: Turn, before: readonly Turn[]): boolean {
  const seats = attempt.committee.length;
  if (!isSupermajority(turn.candidates.length, seats)) return false;
  if (new Set(turn.candidates.map(({ answer }) => answer.outcome)).size === 1) return true;
  const last = before.at(-1);
  if (last === undefined || !isSupermajority(last.candidates.length, seats)) return false;
  const now = gradeText(gradePolicies(attempt, turn.candidates));
  return now !== "" && now === gradeText(gradePolicies(attempt, last.candidates));
}
