import { memberPrompt, wordForm, wordOf } from "../../phases/chair.ts";
import { chaired, type ChairedCarry } from "../../phases/chaired.ts";
import type { Call, SeatView } from "../../phases/phased-rules.ts";
import {
  candidatesOf,
  commitForm,
  proposalFrom,
  revealForm,
  sayCommit,
  sayReveal,
  type Candidate,
} from "../../phases/proposals.ts";
import type { AnyForm, RoundBook, Closure } from "../../phases/round-book.ts";
import { CRITIQUE, critiqueCalls, critiqueForm, critiquesOf, replyPrompt, sayCritiques } from "./critiques.ts";

/** The phase of the reply to the critiques and the final answer. */
export const REPLY = 11;
export const replyForm = wordForm("reply", REPLY);

/** The members' phases. */
export const debateForms: readonly AnyForm[] = [commitForm, revealForm, critiqueForm, replyForm];

/**
 * debate (docs/spec/debate.md). DB1: the members speak exactly three times (answer, cross-examine, reply and revise), then the chair:
 * 3n + 1 model calls.
 */
export const debate = chaired({
  id: "debate",
  code: 8,
  title: "Three-round debate with a chair's synthesis",
  forms: debateForms,
  calls,
  say,
  answers: lastAnswers,
});

function calls(view: SeatView<ChairedCarry>, phase: number): readonly Call[] {
  const { attempt, book, self } = view;
  switch (phase) {
    case commitForm.phase:
      return [{ about: ["propose"], prompt: memberPrompt(attempt, self) }];
    case CRITIQUE:
      return critiqueCalls(view, book, candidatesOf(book, "open"));
    case REPLY: {
      const own = candidatesOf(book, "closed").find(({ seat }) => seat === self);
      if (own === undefined) return [];
      return [{ about: ["revise"], prompt: replyPrompt(attempt, own, critiquesOf(book, book, own, "open")) }];
    }
    default:
      return [];
  }
}

function say(view: SeatView<ChairedCarry>, phase: number): unknown {
  switch (phase) {
    case commitForm.phase:
      return sayCommit(view);
    case revealForm.phase:
      return sayReveal(view);
    case CRITIQUE:
      return sayCritiques(view);
    default:
      return { proposal: proposalFrom(view.attempt.request, view.answered(REPLY)[0]) };
  }
}

/** DB6: per seat with a first answer, its final answer; without a final answer, its first. */
export function lastAnswers(book: RoundBook, closure: Closure): readonly Candidate[] {
  return candidatesOf(book, "closed").map((first) => wordOf(book, replyForm, first.seat, closure) ?? first);
}
