import { canonicalAnswer } from "../../../agents/core/request/answer.ts";
import type { CanonicalAnswer } from "../../../agents/core/request/kinds.ts";
import { canonicalOrder } from "../../../agents/core/seat/order.ts";
import { commitForm, revealForm } from "../../../agents/core/phases/proposals.ts";
import { wbft } from "../../../agents/core/protocols/wbft/index.ts";
import {
  FINAL,
  LEAD,
  PREPARE,
  SCORE,
  finalForm,
  leadForm,
  prepareForm,
  scoresForm,
} from "../../../agents/core/protocols/wbft/payloads.ts";
import { viewsOf } from "../../../agents/core/protocols/wbft/views.ts";
import { weighedClasses, weightsOf } from "../../../agents/core/protocols/wbft/weights.ts";
import { closeForm, type RoundBook } from "../../../agents/core/phases/round-book.ts";
import type { Marks } from "../../../agents/core/phases/scores.ts";
import { emptyTally, roundSlots, type Tally } from "../../../agents/core/seat/tally.ts";
import type { Attempt, Digest, Outcome } from "../../../agents/core/types.ts";
import { attemptOf } from "./committee.ts";
import { addFormRound, proposalBody, type SaidSoFar } from "./form-rounds.ts";

export const VIEW = [leadForm, prepareForm, finalForm, closeForm];
export const FORMS = [commitForm, revealForm, scoresForm, ...VIEW];
export const attemptFor = (
  n: number,
  terms: Parameters<typeof attemptOf>[1] = {},
  reputations: readonly number[] = [],
): Attempt => attemptOf(n, { protocol: 3, ...terms }, reputations);
export const flat = (total: number): Marks =>
  [0, 1, 2, 3, 4].map((index) => Math.floor(total / 5) + (index < total % 5 ? 1 : 0));

/** The outcome of an answer that is canonical. */
const outcomeOfText = (attempt: Attempt, text: string): Digest =>
  (canonicalAnswer(attempt.request, text) as CanonicalAnswer).outcome;

export interface ViewActs {
  /** Whose answer the leader proposes; null = nothing, undefined = it is silent. */
  readonly lead: number | null | undefined;
  /** Whose answer a seat votes for; null = none. */
  readonly prepare: (seat: number) => number | null;
  readonly final: (seat: number) => number | null;
}

export interface Acts {
  readonly answers: readonly (string | null)[];
  /** Total that a seat gives an answer; null = absent. */
  readonly scores?: (seat: number, answer: string) => number | null;
  /** Seats that also mark an answer of their own choice, with the total that they give the first one. */
  readonly more?: { readonly seats: readonly number[]; readonly answer: string };
  readonly views: readonly ViewActs[];
}

/** The weights of all seats after view 0 (WB6, WB7, WB8). */
export function weightsIn(attempt: Attempt, acts: Acts): readonly number[] {
  const plan = { forms: FORMS, partial: new Set([LEAD]) };
  const book: RoundBook = { attempt, round: 0, plan, slots: roundSlots(build(attempt, acts), 0) };
  return weightsOf(book, weighedClasses(book));
}

export function build(attempt: Attempt, { answers, scores = () => 92, more, views }: Acts): Tally {
  let tally: Tally = emptyTally;
  const reveals = new Map<number, Digest>();
  views.forEach((acts, view) => {
    // Nobody goes on from a view that decides.
    if (view > 0 && concluded(attempt, tally) !== null) return;
    const leader = canonicalOrder(attempt)[view];
    const choice = (seat: number | null): { target: Digest | null } => ({
      target: seat === null ? null : (reveals.get(seat) ?? null),
    });
    const body = (phase: number, seat: number, said: SaidSoFar): unknown => {
      const reveal = said(revealForm.phase, seat);
      switch (phase) {
        case commitForm.phase:
        case revealForm.phase:
          return proposalBody(attempt, view, phase, seat, answers[seat] ?? null);
        case SCORE: {
          if (reveal !== null) answers.forEach((_, of) => reveals.set(of, said(revealForm.phase, of) as Digest));
          const texts = [...new Set(answers)].filter((text) => text !== null);
          const marked = more?.seats.includes(seat) === true ? [...texts, more.answer] : texts;
          return {
            scores: marked.map((text) => {
              const total = scores(seat, text);
              return { target: outcomeOfText(attempt, text), marks: total === null ? null : flat(total) };
            }),
          };
        }
        case LEAD:
          return seat !== leader || acts.lead === undefined ? undefined : choice(acts.lead);
        case PREPARE:
          return choice(acts.prepare(seat));
        case FINAL:
          return choice(acts.final(seat));
        default:
          return {};
      }
    };
    tally = addFormRound(tally, attempt, view, view === 0 ? FORMS : VIEW, { body, partial: [LEAD] });
  });
  return tally;
}

export function concluded(attempt: Attempt, tally: Tally): Outcome | null {
  const conclusion = wbft.conclude(attempt, tally);
  return conclusion.kind === "final" ? conclusion.outcome : null;
}

/** The given views, then lost ones up to the bound. */
export function outcomeOf(attempt: Attempt, acts: Acts): Outcome | null {
  const rest = Array.from({ length: viewsOf(attempt) - acts.views.length }, () => lost);
  return concluded(attempt, build(attempt, { ...acts, views: [...acts.views, ...rest] }));
}
export const all = (of: number | null) => (): number | null => of;
export const upTo =
  (count: number, of: number) =>
  (seat: number): number | null =>
    seat < count ? of : null;
export const lost: ViewActs = { lead: null, prepare: all(null), final: all(null) };
export const yeses = (n: number): string[] => Array.from({ length: n }, () => "yes");
