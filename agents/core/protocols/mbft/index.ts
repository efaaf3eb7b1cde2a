import { MATCH, matchCalls, matchForm, matchForms, sayMatches } from "../../phases/equivalence.ts";
import { limits } from "../../limits.ts";
import { phased } from "../../phases/phased.ts";
import type { Answered, Call, SeatView } from "../../phases/phased-rules.ts";
import { cutText, renderedBytes } from "../../prompts/prompt.ts";
import { candidatesOf, commitForm, revealForm, sayCommit, sayReveal, type Proposal } from "../../phases/proposals.ts";
import { said } from "../../phases/round-book.ts";
import { lineOf, proposePrompt, revisePrompt } from "../../prompts/task-prompt.ts";
import { VOTE, verifyCalls, voteForm, votesFrom, votesOn } from "../../phases/votes.ts";
import type { Attempt, Digest, SeatIndex } from "../../types.ts";
import { explainMbft, initialCarry, assessMbftRound, type MbftCarry } from "./conclude.ts";
import { mbftConfig } from "./config.ts";
import { JUDGE, judgeForm, type Judgement } from "./payloads.ts";
import { VERSION, adjudicatePrompt } from "./prompts.ts";
import { classesOf, counterProofsOf, type ClassResult } from "./rules.ts";

/** mbft, sound mode (docs/spec/mbft.md): what a seat asks and says. `conclude.ts` and `rules.ts` are the rule book. */
export const mbft = phased<MbftCarry>({
  id: "mbft",
  code: 1,
  version: VERSION,
  title: "Metacognitive BFT, sound mode",
  assurance: "byzantine",
  refuseRequest: refuseMbft,
  rounds: () => limits.deliberationRounds,
  forms: (attempt) => [commitForm, revealForm, ...matchForms(attempt), voteForm, judgeForm],
  initial: initialCarry,
  assessRound: (book, carry) => assessMbftRound(book, carry, book.round + 1 === limits.deliberationRounds),
  explain: explainMbft,
  calls: mbftCalls,
  say: mbftSay,
});

export function refuseMbft(attempt: Attempt): string | null {
  // MB1: theta > (f + h) * tauMax must hold for some h >= 0.
  return mbftConfig(attempt).fooled < 0 ? `theta cannot exceed f * tauMax for ${attempt.committee.length} seats` : null;
}

export function mbftCalls(view: SeatView<MbftCarry>, phase: number): readonly Call[] {
  switch (phase) {
    case commitForm.phase:
      return [{ about: ["propose"], prompt: proposal(view) }];
    case MATCH:
      return matchCalls(view, candidatesOf(view.book, "open"));
    case VOTE:
      return verifications(view);
    case JUDGE:
      return adjudications(view);
    default:
      return [];
  }
}

export function mbftSay(view: SeatView<MbftCarry>, phase: number): unknown {
  switch (phase) {
    case commitForm.phase:
      return sayCommit(view);
    case revealForm.phase:
      return sayReveal(view);
    case matchForm.phase:
      return sayMatches(view);
    case VOTE:
      return votesFrom(view.book, view.answered(VOTE));
    default:
      return { judgements: view.answered(JUDGE).flatMap(judgementFrom) };
  }
}

/** MB15: in a revision round the seat sees the objections to its answer of the round before. */
function proposal(view: SeatView<MbftCarry>): Call["prompt"] {
  const { attempt, carry, earlier, self } = view;
  const before = earlier.at(-1);
  if (before === undefined || carry.result === null) return proposePrompt(attempt);
  const own: Proposal | null = said(before, revealForm, self)?.body.proposal ?? null;
  return revisePrompt(attempt, own, objections(carry.result.classes, self));
}

/** Objections to a seat's answer: upheld counter-proofs first, then other counter-proofs, then the proofs of other answers. */
function objections(classes: readonly ClassResult[], self: SeatIndex): readonly string[] {
  const own = classes.find((result) => result.class.members.some((member) => member.seat === self));
  const against = own?.counterProofs ?? [];
  const upheld = against.filter((proof) => proof.ruling === "upheld").map((proof) => proof.text);
  const dismissed = against.filter((proof) => proof.ruling === "dismissed").map((proof) => proof.text);
  const differing = classes
    .filter((result) => result !== own)
    .map((result) => lineOf(result.class.answer.text, result.class.shown.proof));
  const counters = [...upheld, ...dismissed].map((text) => cutText(text, limits.counterProofBytes));
  let bytes = 0;
  return [...counters, ...differing].filter((text) => (bytes += renderedBytes(text)) <= limits.objectionsBytes);
}

/** MB6, MB8: the calls that verify each distinct answer but the own one, all at once. */
function verifications(view: SeatView<MbftCarry>): readonly Call[] {
  const { book, carry } = view;
  return verifyCalls(view, classesOf(book, carry.reputations, candidatesOf(book, "open"), "open"));
}

/** MB10, MB11: the calls that adjudicate each counter-proof of another seat once. */
function adjudications({ attempt, book, carry, self }: SeatView<MbftCarry>): readonly Call[] {
  const classes = classesOf(book, carry.reputations, candidatesOf(book, "closed"), "closed");
  const votes = votesOn(book, classes, "open");
  return counterProofsOf(book, carry.reputations, classes, votes).flatMap(
    ({ author, target, text, against: [judged] }) =>
      author === self
        ? []
        : [{ about: ["adjudicate", String(author), target], prompt: adjudicatePrompt(attempt, judged.shown, text) }],
  );
}

function judgementFrom({ about, fields }: Answered): readonly Judgement[] {
  const { verdict } = fields;
  if (verdict !== "uphold" && verdict !== "refute") return [];
  return [{ author: Number(about[1]) as SeatIndex, target: about[2] as Digest, verdict }];
}
