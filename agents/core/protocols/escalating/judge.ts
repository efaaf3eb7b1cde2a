import type { AnswerGroup } from "../../request/answer.ts";
import { inTurn, withEquivocators } from "../../phases/chair.ts";
import { outcomeFrom } from "../../phases/outcome.ts";
import { NOBODY_BLIND, outcomesOf } from "../../phases/pay.ts";
import type { JudgedRound } from "../../phases/phased-rules.ts";
import { blindIn, candidatesOf, type Candidate } from "../../phases/proposals.ts";
import { faultTolerance } from "../../quorum.ts";
import { counted, equivocatorsIn, type RoundBook, type Closure } from "../../phases/round-book.ts";
import {
  citeForm,
  isExact,
  readDocument,
  sourceForm,
  sourcesOf,
  type Citation,
  type Document,
} from "../../request/sources.ts";
import { encode } from "../../encoding/codec.ts";
import type { Attempt, Outcome, SeatIndex } from "../../types.ts";
import { initialCarry as initialMbft, judgeMbftRound, type MbftCarry } from "../mbft/conclude.ts";
import { applySlashes } from "../mbft/rules.ts";
import { acceptedOf, agreementIn, isContested } from "./rules.ts";
import { councilRound, isGated, levelAt, levelsOf } from "./levels.ts";

export interface EscalatingCarry {
  /** SG5: the documents that the question names, in its order; none before they were brought. */
  readonly documents: readonly Document[];
  /** ES6: true if the council's answers are debated before mbft. */
  readonly isContested: boolean;
  /** Reputations and slashes so far, and the mbft round before. */
  readonly mbft: MbftCarry;
}

export function initialCarry(attempt: Attempt): EscalatingCarry {
  return { documents: [], isContested: false, mbft: initialMbft(attempt) };
}

export function judgeEscalatingRound(book: RoundBook, carry: EscalatingCarry): JudgedRound<EscalatingCarry> {
  switch (levelAt(book.attempt, book.round)) {
    case "sources":
      return judgeSources(book, carry);
    case "council":
      return judgeCouncil(book, carry);
    case "mbft":
      return judgeMbft(book, carry);
  }
}

/** SG5: the first 2f + 1 seats in canonical order. More than 2/3 of them (PH5) include an honest one. */
export function bringersOf(attempt: Attempt): readonly SeatIndex[] {
  const bringers = 2 * faultTolerance(attempt.committee.length) + 1;
  return Array.from({ length: bringers }, (_, turn) => inTurn(attempt, turn));
}

/** SG5: a document is there if a bringer's message that counts has it. If one is missing, the question is not answered. */
function judgeSources(book: RoundBook, carry: EscalatingCarry): JudgedRound<EscalatingCarry> {
  const { attempt } = book;
  const brought = bringersOf(attempt).flatMap((seat) => counted(book, sourceForm, seat, "closed") ?? []);
  const documents = sourcesOf(attempt.request.question).flatMap((digest, index) => {
    const text = brought.map(({ body }) => body.documents[index]).find((one) => typeof one === "string");
    return typeof text === "string" ? (readDocument(digest, encode(text)) ?? []) : [];
  });
  const next = { ...carry, documents, mbft: slashEquivocators(book, carry.mbft) };
  const isWhole = documents.length === sourcesOf(attempt.request.question).length;
  const { slashes } = next.mbft;
  return {
    carry: next,
    outcome: isWhole ? null : outcomeFrom(attempt, { winner: null, blind: NOBODY_BLIND, slashes, completed: [] }),
  };
}

function judgeCouncil(book: RoundBook, carry: EscalatingCarry): JudgedRound<EscalatingCarry> {
  const { attempt } = book;
  const candidates = candidatesOf(book, "closed");
  const agreement = agreementIn(book, candidates, "closed");
  const mbft = { ...slashEquivocators(book, carry.mbft), blind: blindIn(book) };
  const accepted = acceptedOf(attempt, agreement);
  return {
    carry: { ...carry, mbft, isContested: isContested(attempt, agreement) },
    outcome: accepted && accept(attempt, accepted, candidates, mbft),
  };
}

/** ES7, ES8: after a debate its answers may be accepted as they are; else they are the proposals of mbft's first round. */
function judgeMbft(book: RoundBook, carry: EscalatingCarry): JudgedRound<EscalatingCarry> {
  const { attempt, round } = book;
  const isLast = round + 1 === levelsOf(attempt).length;
  const judged = judgeMbftRound(book, carry.mbft, claimsIn(book, carry, "closed"), isLast);
  const next = { ...carry, mbft: judged.carry };
  if (isDebate(attempt, round, carry)) {
    const answers = candidatesOf(book, "closed");
    const accepted = acceptedOf(attempt, agreementIn(book, answers, "closed"));
    if (accepted !== null)
      return { carry: next, outcome: accept(attempt, accepted, answers, slashEquivocators(book, carry.mbft)) };
  }
  return { carry: next, outcome: judged.outcome };
}

/** ES7: true if the round's proposals are the last answers of a debate. */
export function isDebate(attempt: Attempt, round: number, carry: EscalatingCarry): boolean {
  return carry.isContested && round === councilRound(attempt) + 1;
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

/** SG4: the proposals that count. With documents, a proposal must cite something, and every citation must be exact. */
export function claimsIn(book: RoundBook, { documents }: EscalatingCarry, closure: Closure): readonly Candidate[] {
  const candidates = candidatesOf(book, closure);
  if (!isGated(book.attempt)) return candidates;
  return candidates.filter(({ seat }) => {
    const citations = citationsOf(book, seat, closure);
    return citations.length > 0 && citations.every((citation) => isExact(documents, citation));
  });
}

export function citationsOf(book: RoundBook, seat: SeatIndex, closure: Closure): readonly Citation[] {
  return counted(book, citeForm, seat, closure)?.body.citations ?? [];
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
