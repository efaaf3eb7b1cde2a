import {
  MOST_SEATS,
  CHAIR_VERSION,
  agreesWith,
  inTurn,
  memberPrompt,
  refuseChaired,
  outcomeOfChair,
  triesOf,
  withEquivocators,
  wordOf,
} from "../../phases/chair.ts";
import { canonicalRanks, seatsOf } from "../../seat/order.ts";
import { outcomeFrom } from "../../phases/outcome.ts";
import { NOBODY_BLIND, type Blind } from "../../phases/pay.ts";
import { phased } from "../../phases/phased.ts";
import type { Call, AssessedRound, SeatView } from "../../phases/phased-rules.ts";
import { proposalFrom, type Candidate } from "../../phases/proposals.ts";
import { shownAnswer } from "../../phases/reasons.ts";
import { faultTolerance } from "../../quorum.ts";
import { allCounted, allVariants, closeForm, type RoundBook, type Closure } from "../../phases/round-book.ts";
import { verifyPrompt } from "../../prompts/task-prompt.ts";
import type { Attempt, SeatIndex } from "../../types.ts";
import {
  CONVERGE,
  DRAFT,
  REVIEW,
  convergeForm,
  convergePrompt,
  draftForm,
  reviewForm,
  reviewFrom,
  type Review,
} from "./payloads.ts";

/** A draft with its reviews. */
interface Reviewed {
  readonly draft: Candidate;
  readonly reviews: readonly (Review & { readonly seat: SeatIndex })[];
}

interface AdversarialCarry {
  /** AD9: seats that drafted or reviewed in a round whose draft was reviewed. */
  readonly worked: readonly SeatIndex[];
  /** PY7: the first draft, if it counts; null before the first. */
  readonly blind: Blind | null;
  readonly slashes: readonly number[];
  /** Drafters and convergers that failed in their turn. */
  readonly failed: readonly SeatIndex[];
}

/** adversarial (docs/spec/adversarial.md). AD2, AD3: one seat drafts, k = n - 2 review, one converges: k + 2 model calls. */
export const adversarial = phased<AdversarialCarry>({
  id: "adversarial",
  code: 9,
  version: CHAIR_VERSION,
  title: "Draft, review, converge",
  assurance: "chair",
  mostSeats: MOST_SEATS,
  refuseRequest: refuseChaired,
  rounds: triesOf,
  forms: () => [draftForm, reviewForm, convergeForm, closeForm],
  speakers,
  initial: (attempt) => ({ worked: [], blind: null, slashes: attempt.committee.map(() => 0), failed: [] }),
  assessRound: assessAdversarialRound,
  explain: explainAdversarial,
  calls,
  say,
});

/** AD1: each round takes the next two seats in canonical order; all others review. */
function drafterOf(attempt: Attempt, round: number): SeatIndex {
  return inTurn(attempt, 2 * round);
}

function convergerOf(attempt: Attempt, round: number): SeatIndex {
  return inTurn(attempt, 2 * round + 1);
}

function speakers(attempt: Attempt, round: number, phase: number): readonly SeatIndex[] | null {
  const drafter = drafterOf(attempt, round);
  const converger = convergerOf(attempt, round);
  switch (phase) {
    case DRAFT:
      return [drafter];
    case REVIEW:
      return seatsOf(attempt).filter((seat) => seat !== drafter && seat !== converger);
    case CONVERGE:
      return [converger];
    default:
      return null;
  }
}

function draftIn(book: RoundBook, closure: Closure): Candidate | null {
  return wordOf(book, draftForm, drafterOf(book.attempt, book.round), closure);
}

/** AD4, AD5, AD8: the round's draft with its reviews that count; null without a draft or without any review. */
function reviewedIn(book: RoundBook, closure: Closure): Reviewed | null {
  const draft = draftIn(book, closure);
  const reviews = reviewsIn(book, closure).filter((review) => review.draft === draft?.target);
  return draft === null || reviews.length === 0 ? null : { draft, reviews };
}

/** The reviews that count, of any draft. */
function reviewsIn(book: RoundBook, closure: Closure): Reviewed["reviews"] {
  return allCounted(book, reviewForm, closure).flatMap(({ seat, body }) =>
    body.review === null ? [] : [{ ...body.review, seat }],
  );
}

/**
 * AD5: no call depends on earlier rounds. A drafter or converger that says two things can leave the seats with different earlier rounds,
 * and an honest pair that starts from different ones would fail.
 */
function calls({ attempt, book, self }: SeatView<AdversarialCarry>, phase: number): readonly Call[] {
  switch (phase) {
    case DRAFT:
      return [{ about: ["propose"], prompt: memberPrompt(attempt, self) }];
    case REVIEW: {
      const draft = draftIn(book, "open");
      return draft === null
        ? []
        : [{ about: ["verify", draft.target], prompt: verifyPrompt(attempt, draft.answer.text, draft.proof) }];
    }
    case CONVERGE: {
      const reviewed = reviewedIn(book, "open");
      if (reviewed === null) return [];
      return [{ about: ["converge"], prompt: convergePrompt(attempt, reviewed.draft, inOrder(attempt, reviewed)) }];
    }
    default:
      return [];
  }
}

/** AD4: reviews without their seats, in canonical order: no seat chooses its place. */
function inOrder(attempt: Attempt, { reviews }: Reviewed): readonly string[] {
  const ranks = canonicalRanks(attempt);
  return reviews.toSorted((a, b) => (ranks[a.seat] as number) - (ranks[b.seat] as number)).map(({ text }) => text);
}

function say(view: SeatView<AdversarialCarry>, phase: number): unknown {
  if (phase === REVIEW) return reviewFrom(view.answered(REVIEW)[0]);
  return { proposal: proposalFrom(view.attempt.request, view.answered(phase)[0]) };
}

function assessAdversarialRound(book: RoundBook, carry: AdversarialCarry): AssessedRound<AdversarialCarry> {
  const { attempt, round } = book;
  const reviewed = reviewedIn(book, "closed");
  const slashes = withEquivocators(carry.slashes, book);
  const blind = carry.blind ?? firstDraft(book);
  const final = reviewed && wordOf(book, convergeForm, convergerOf(attempt, round), "closed");
  const next = {
    worked: [...carry.worked, ...workedIn(book, reviewed)],
    blind,
    slashes,
    failed: [...carry.failed, ...failedIn(book, reviewed, final)],
  };
  const completed = next.worked.filter((seat) => !next.failed.includes(seat));
  if (reviewed !== null && final !== null) {
    const outcome = outcomeOfChair(attempt, {
      chair: final,
      agreeing: followed(attempt, reviewed, final),
      of: attempt.committee.length - 1,
      degraded: round > 0 || reviewed.reviews.length < leastReviews(attempt),
      blind: blind ?? NOBODY_BLIND,
      slashes,
      completed,
      fewBlind: true,
    });
    return { carry: next, outcome };
  }
  if (round + 1 < triesOf(attempt)) return { carry: next, outcome: null };
  return {
    carry: next,
    outcome: outcomeFrom(attempt, { winner: null, blind: blind ?? NOBODY_BLIND, slashes, completed, fewBlind: true }),
  };
}

/** PH14: who failed in the round, which decides nothing then. */
function explainAdversarial(book: RoundBook): readonly string[] {
  const drafter = drafterOf(book.attempt, book.round);
  const draft = draftIn(book, "closed");
  if (draft === null) return [`seat ${drafter} drafted no answer that counts`];
  const drafted = `${shownAnswer(draft.answer.text)}: drafted by seat ${drafter}`;
  if (reviewedIn(book, "closed") === null) return [`${drafted}; nobody's review of it counts`];
  const converger = convergerOf(book.attempt, book.round);
  const final = wordOf(book, convergeForm, converger, "closed");
  return final === null ? [`${drafted}; seat ${converger} concluded with no answer that counts`] : [];
}

/**
 * PY7: null if the round has no draft at all. Later drafters can have seen one that does not count. Of two messages of the drafter one can be a
 * draft, whichever two of them this seat holds.
 */
function firstDraft(book: RoundBook): Blind | null {
  const drafts = allVariants(book, draftForm, drafterOf(book.attempt, book.round));
  if (drafts.length < 2 && drafts.every(({ body }) => body.proposal === null)) return null;
  const draft = draftIn(book, "closed");
  return draft === null ? NOBODY_BLIND : { answers: [draft], overdue: [] };
}

/** Seats that failed in their turn. */
function failedIn(book: RoundBook, reviewed: Reviewed | null, final: Candidate | null): readonly SeatIndex[] {
  if (reviewed !== null) return final === null ? [convergerOf(book.attempt, book.round)] : [];
  return draftIn(book, "closed") === null ? [drafterOf(book.attempt, book.round)] : [];
}

/** AD8: the drafter and all reviewers, also those who were told another draft than the one that counts. */
function workedIn(book: RoundBook, reviewed: Reviewed | null): readonly SeatIndex[] {
  return reviewed === null ? [] : [reviewed.draft.seat, ...reviewsIn(book, "closed").map(({ seat }) => seat)];
}

/** AD7: the least number of reviews, k - f: they arrive whichever f seats are faulty. */
function leastReviews(attempt: Attempt): number {
  const seats = attempt.committee.length;
  return seats - 2 - faultTolerance(seats);
}

/**
 * AD6: the seats whose word the converger is known to follow. If it keeps the draft's answer, these are its author and the seats that
 * accepted it. A seat that rejected it wants another answer, and which one is known only if there are just two answers.
 */
function followed(attempt: Attempt, { draft, reviews }: Reviewed, final: Candidate): readonly SeatIndex[] {
  const seatsThat = (verdict: Review["verdict"]) =>
    reviews.filter((review) => review.verdict === verdict).map(({ seat }) => seat);
  if (agreesWith(attempt, draft, final)) return [draft.seat, ...seatsThat("accept")];
  return attempt.request.terms.kind === "boolean" ? seatsThat("reject") : [];
}
