import { memberPrompt } from "../phases/chair.ts";
import { chaired } from "../phases/chaired.ts";
import { candidatesOf, commitForm, revealForm, sayCommit, sayReveal } from "../phases/proposals.ts";
import type { AnyForm } from "../phases/round-book.ts";

/** The phases in which all seats answer. */
export const councilForms: readonly AnyForm[] = [commitForm, revealForm];

/** council (docs/spec/council.md). CH2: all answer at once, unseen by each other. CH4: the chair synthesises. These are n + 1 model calls. */
export const council = chaired({
  id: "council",
  code: 7,
  title: "Council with a chair's synthesis",
  forms: councilForms,
  calls: (view, phase) =>
    phase === commitForm.phase ? [{ about: ["propose"], prompt: memberPrompt(view.attempt, view.self) }] : [],
  say: (view, phase) => (phase === commitForm.phase ? sayCommit(view) : sayReveal(view)),
  answers: candidatesOf,
});
