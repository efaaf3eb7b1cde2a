import { limits } from "../../limits.ts";
import { MATCH, matchCalls, matchForm, matchForms, sayMatches } from "../../phases/equivalence.ts";
import { phased } from "../../phases/phased.ts";
import type { Call, SeatView } from "../../phases/phased-rules.ts";
import {
  candidatesOf,
  commitForm,
  revealForm,
  samplesForm,
  sayCommit,
  sayReveal,
  type Proposal,
} from "../../phases/proposals.ts";
import { closeForm } from "../../phases/round-book.ts";
import { mostFrequent } from "../../phases/samples.ts";
import { VOTE, verifyCalls, voteForm, votesFrom } from "../../phases/votes.ts";
import { sampled } from "../../prompts/prompt.ts";
import { proposePrompt } from "../../prompts/task-prompt.ts";
import { explainClo, initialCarry, assessCloRound, roundsOf, type CloCarry } from "./conclude.ts";
import { classesOf, tellsSamples } from "./rules.ts";

/** Raised with every change of rules, wording or fields, and with every version it builds on (test/core/versions.test.ts). */
const VERSION = 18;

/** clo, counted log-odds (docs/spec/clo.md): what a seat asks and says. `conclude.ts` and `rules.ts` are the rule book. */
export const clo = phased<CloCarry>({
  id: "clo",
  code: 11,
  version: VERSION,
  title: "Counted log-odds",
  assurance: "byzantine",
  showsNoAnswers: true,
  // CL1: the phases of a round, and how many there are.
  rounds: roundsOf,
  forms: (attempt) =>
    tellsSamples(attempt)
      ? [commitForm, samplesForm, closeForm]
      : [commitForm, revealForm, ...matchForms(attempt), voteForm, closeForm],
  initial: initialCarry,
  assessRound: assessCloRound,
  explain: explainClo,
  calls,
  say,
});

function calls(view: SeatView<CloCarry>, phase: number): readonly Call[] {
  const { attempt, book } = view;
  switch (phase) {
    case commitForm.phase:
      return Array.from({ length: limits.samples }, (_, sample) => ({
        about: ["propose", String(sample)],
        prompt: sampled(proposePrompt(attempt)),
      }));
    case MATCH:
      return matchCalls(view, candidatesOf(book, "open"));
    case VOTE:
      return verifyCalls(view, classesOf(book, "open"));
    default:
      return [];
  }
}

function say(view: SeatView<CloCarry>, phase: number): unknown {
  switch (phase) {
    case commitForm.phase:
      return sayCommit(view, ownProposal(view));
    case revealForm.phase:
      return sayReveal(view, ownProposal(view));
    case matchForm.phase:
      return sayMatches(view);
    case VOTE:
      return votesFrom(view.book, view.answered(VOTE));
    default:
      return {};
  }
}

function ownProposal(view: SeatView<CloCarry>): Proposal | null {
  const { attempt, read } = view;
  return mostFrequent(attempt.request, view.answered(commitForm.phase), tellsSamples(attempt), read);
}
