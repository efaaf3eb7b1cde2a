import { canonicalRanks, seatsOf } from "../../seat/order.ts";
import { outcomeFrom, type Resolution } from "../../phases/outcome.ts";
import { NOBODY_BLIND, type Blind } from "../../phases/pay.ts";
import type { AssessedRound, SeatView } from "../../phases/phased-rules.ts";
import { blindIn, type Candidate } from "../../phases/proposals.ts";
import { explainClasses, percentText, shownAnswer } from "../../phases/reasons.ts";
import { faultTolerance } from "../../quorum.ts";
import { counted, equivocatorsIn, type RoundBook, type Closure } from "../../phases/round-book.ts";
import { ONE_PPM, type Attempt, type Digest, type SeatIndex } from "../../types.ts";
import { finalForm, leadForm, prepareForm } from "./payloads.ts";
import { weighedClasses, isQuorum, sumOf, weightsOf, type WeighedClass } from "./weights.ts";

/** A class, named by the outcome of its answer, with the view of its certificate or vote. */
export interface ClassLock {
  readonly view: number;
  readonly outcome: Digest;
}

/** What views leave behind for later ones. */
export interface WbftCarry {
  /** The classes of view 0; null before it was assessed. */
  readonly classes: readonly WeighedClass[] | null;
  readonly weights: readonly number[];
  /** PY7: the answers of view 0. */
  readonly blind: Blind;
  /** The highest prepare certificate. */
  readonly certificate: ClassLock | null;
  /** Per seat, its last FINAL vote in a view with a prepare certificate. */
  readonly locks: readonly (ClassLock | null)[];
  /** Slashes per seat so far. */
  readonly slashes: readonly number[];
}

/** Subject of a view: the leader's answer and its class. */
export interface Led {
  readonly candidate: Candidate;
  readonly class: WeighedClass;
}

const MOST_VIEWS = 12;

/** WB12: after f bad leaders and f honest ones that are mistaken or cut off, two views are left; at most twelve views. */
export function viewsOf({ committee }: Attempt): number {
  return Math.min(2 * faultTolerance(committee.length) + 2, MOST_VIEWS);
}

/** WB3: leaders take turns in canonical order. */
export function leaderOf(attempt: Attempt, view: number): SeatIndex {
  return canonicalRanks(attempt).indexOf(view % attempt.committee.length) as SeatIndex;
}

export function initialCarry({ committee }: Attempt): WbftCarry {
  const locks = committee.map(() => null);
  return { classes: null, weights: [], blind: NOBODY_BLIND, certificate: null, locks, slashes: committee.map(() => 0) };
}

/** The classes of view 0, whatever the current view. */
export function classesIn({ carry, earlier, book }: SeatView<WbftCarry>): readonly WeighedClass[] {
  return carry.classes ?? weighedClasses(earlier[0] ?? book);
}

/** WB10: the leader's proposal; null unless it is an answer that counted in view 0. */
export function ledIn(book: RoundBook, classes: readonly WeighedClass[], closure: Closure): Led | null {
  const target = counted(book, leadForm, leaderOf(book.attempt, book.round), closure)?.body.target ?? null;
  return target === null ? null : findLed(classes, target);
}

function findLed(classes: readonly WeighedClass[], target: Digest): Led | null {
  for (const one of classes) {
    const candidate = one.members.find((member) => member.target === target);
    if (candidate !== undefined) return { candidate, class: one };
  }
  return null;
}

/** WB13: a seat locked on another class votes for this one only with a prepare certificate for it from a later view than the lock. */
export function permits(lock: ClassLock | null, certificate: ClassLock | null, { answer }: WeighedClass): boolean {
  if (lock === null || lock.outcome === answer.outcome) return true;
  return certificate !== null && certificate.outcome === answer.outcome && certificate.view > lock.view;
}

/** Seats whose PREPARE for the leader's answer counts, because their lock permits it (WB13). */
export function preparersOf(book: RoundBook, carry: WbftCarry, led: Led, closure: Closure): readonly SeatIndex[] {
  return seatsOf(book.attempt).filter((seat) => {
    const vote = counted(book, prepareForm, seat, closure)?.body.target;
    return vote === led.candidate.target && permits(carry.locks[seat] ?? null, carry.certificate, led.class);
  });
}

/** WB14: the leader's answer if the seat, by the PREPARE messages it holds now, sees a prepare certificate for it; else null. */
export function seesCertificate(view: SeatView<WbftCarry>): Led | null {
  const { book, carry, earlier } = view;
  const classes = classesIn(view);
  const led = ledIn(book, classes, "closed");
  if (led === null) return null;
  const weights = carry.classes === null ? weightsOf(earlier[0] ?? book, classes) : carry.weights;
  return isQuorum(book.attempt, weights, preparersOf(book, carry, led, "open")) ? led : null;
}

/** The own lock. It follows from the message set, not from what the seat alone saw; else votes told to one seat would lock it (WB14). */
export function ownLock({ carry, self }: SeatView<WbftCarry>): ClassLock | null {
  return carry.locks[self] ?? null;
}

/** WB14, WB15, WB16, WB17: assesses a complete view. */
export function assessWbftRound(book: RoundBook, before: WbftCarry): AssessedRound<WbftCarry> {
  const { attempt, round } = book;
  const classes = before.classes ?? weighedClasses(book);
  const weights = before.classes === null ? weightsOf(book, classes) : before.weights;
  const blind = before.classes === null ? blindIn(book) : before.blind;
  const slashes = before.slashes.map(
    (count, seat) => count + (equivocatorsIn(book).includes(seat as SeatIndex) ? 1 : 0),
  );
  const led = ledIn(book, classes, "closed");
  const isPrepared = led !== null && isQuorum(attempt, weights, preparersOf(book, before, led, "closed"));
  const finalists = led === null ? [] : finalistsOf(book, led);
  const isDecided = isPrepared && isQuorum(attempt, weights, finalists);
  // A FINAL vote without a certificate in the set moves no lock.
  const lock = isPrepared ? { view: round, outcome: led.class.answer.outcome } : null;
  const locks = before.locks.map((old, seat) => (lock !== null && finalists.includes(seat as SeatIndex) ? lock : old));
  const carry = { classes, weights, blind, certificate: lock ?? before.certificate, locks, slashes };
  if (!isDecided && round + 1 < viewsOf(attempt)) return { carry, outcome: null };
  const winner = isDecided && led ? winnerOf(led) : null;
  return {
    carry,
    outcome: outcomeFrom(attempt, { winner, blind, slashes, completed: completedIn(book, classes) }),
  };
}

/** PH14: the answers of view 0, and what the leader of the last view found for its own (WB9). */
export function explainWbft(book: RoundBook, before: WbftCarry, answers: RoundBook): readonly string[] {
  const { attempt, round } = book;
  const classes = before.classes ?? weighedClasses(book);
  const weights = before.classes === null ? weightsOf(book, classes) : before.weights;
  const view = `view ${round}: its leader, seat ${leaderOf(attempt, round)},`;
  const led = ledIn(book, classes, "closed");
  if (led === null) return [...explainClasses(answers), `${view} proposed no answer that counts`];
  const shares = (seats: readonly SeatIndex[]): string => {
    const part =
      (BigInt(sumOf(seats.map((seat) => weights[seat] as number))) * BigInt(ONE_PPM)) / BigInt(sumOf(weights));
    return `by ${seats.length} of ${attempt.committee.length} seats with ${percentText(Number(part))} of the weight`;
  };
  const prepared = shares(preparersOf(book, before, led, "closed"));
  const final = shares(finalistsOf(book, led));
  const needed = attempt.request.terms.assurance === "high" ? "more than 2/3 of both" : "more than 1/2 and 2/3";
  const proposed = `${view} proposed ${shownAnswer(led.candidate.answer.text)}`;
  return [...explainClasses(answers), `${proposed}: prepared ${prepared}, final ${final}, ${needed} needed`];
}

function finalistsOf(book: RoundBook, { candidate }: Led): readonly SeatIndex[] {
  return seatsOf(book.attempt).filter(
    (seat) => counted(book, finalForm, seat, "closed")?.body.target === candidate.target,
  );
}

/** WB15: the winner is the leader's own answer, which the others compared. */
function winnerOf({ candidate: { answer }, class: { members } }: Led): NonNullable<Resolution["winner"]> {
  return { answer, alike: members.map((member) => member.answer.outcome) };
}

/** WB17: seats whose answer counted, and whose PREPARE and FINAL count in the last view. */
function completedIn(book: RoundBook, classes: readonly WeighedClass[]): readonly SeatIndex[] {
  return classes
    .flatMap(({ members }) => members.map(({ seat }) => seat))
    .filter((seat) => [prepareForm, finalForm].every((form) => counted(book, form, seat, "closed") !== null));
}
