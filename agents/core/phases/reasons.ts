import { canonicalAnswer, unreadAnswer } from "../request/answer.ts";
import type { CanonicalAnswer } from "../request/kinds.ts";
import { nonAnswerIn } from "../request/non-answers.ts";
import { clipText } from "../request/text.ts";
import { answerClasses, bySupport } from "./equivalence.ts";
import { candidatesOf, commitForm, revealIn } from "./proposals.ts";
import { said, type RoundBook } from "./round-book.ts";
import { spokenIn } from "../seat/tally.ts";
import type { SeatIndex } from "../types.ts";

/** PH14: why a round decides nothing, in words for people. All of it follows from the messages; no rule reads it. */

/** Bytes of an answer that are shown. */
const SHOWN_BYTES = 80;

export function shownAnswer(text: string): string {
  const shown = clipText(text, SHOWN_BYTES);
  return `'${shown === text ? text : `${shown}...`}'`;
}

/** Parts per million as a percentage to two decimals, rounded down. */
export function percentText(ppm: number): string {
  return `${Math.floor(ppm / 10_000)}.${String(Math.floor(ppm / 100) % 100).padStart(2, "0")} %`;
}

/** True if seats reveal their answers in the round. */
export function hasReveals(book: RoundBook): boolean {
  return book.plan.forms.includes(revealIn(book));
}

/** The seats that were asked for an answer and have none that counts, each with the reason. */
export function explainSeats(book: RoundBook, asked: readonly SeatIndex[]): readonly string[] {
  if (!hasReveals(book)) return [];
  const counted = new Set(candidatesOf(book, "closed").map(({ seat }) => seat));
  return asked.flatMap((seat) => (counted.has(seat) ? [] : [`seat ${seat}: ${whyNone(book, seat)}`]));
}

function whyNone(book: RoundBook, seat: SeatIndex): string {
  const isVoid = [commitForm, revealIn(book)].some(({ phase }) => spokenIn(book.slots, phase, seat) === "void");
  if (isVoid) return "it signed two different messages where one is due: neither counts";
  const reveal = said(book, revealIn(book), seat);
  if (reveal === null) {
    const isSilent = said(book, commitForm, seat) === null;
    return isSilent ? "nothing came from it: it is slow or away" : "it committed itself and revealed nothing";
  }
  const { proposal, why } = reveal.body;
  if (proposal === null) return why ?? "it gave no answer, and no reason";
  const { request } = book.attempt;
  const answer = canonicalAnswer(request, proposal.answer);
  if (answer === null) return unreadAnswer(request, proposal.answer);
  if (book.gathered?.bears(seat, answer, proposal.citations ?? []) === false) return whyUnborne(answer);
  return `its answer ${shownAnswer(proposal.answer)} does not open a commitment that was seen in time`;
}

/** SG9, SG10: why the sources do not bear an answer. */
export function whyUnborne(answer: CanonicalAnswer): string {
  return nonAnswerIn(answer) === null
    ? `its answer ${shownAnswer(answer.text)} quotes nothing that more than 1/3 of the seats read`
    : `its answer ${shownAnswer(answer.text)} quotes a source, though it rests on none`;
}

/** The answers that count, each with the number of its seats. */
export function explainClasses(book: RoundBook): readonly string[] {
  const classes = answerClasses(book, candidatesOf(book, "closed"), "closed");
  return bySupport(book.attempt, classes).map(
    ({ representative, seats }) =>
      `${shownAnswer(representative.text)}: answered by ${seats.length} of ${book.attempt.committee.length} seats`,
  );
}
