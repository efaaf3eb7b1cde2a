import { MATCH, matchCalls, matchForms, sayMatches } from "../../phases/equivalence.ts";
import type { PhasedState } from "../../phases/drive.ts";
import { phased } from "../../phases/phased.ts";
import type { Call, SeatView } from "../../phases/phased-rules.ts";
import { candidatesOf, commitForm, revealForm, sayCommit, sayReveal } from "../../phases/proposals.ts";
import type { Protocol } from "../../protocol.ts";
import { closeForm, said } from "../../phases/round-book.ts";
import { DEFAULTS, checkSettings, reasonsStepByStep, type UnanimousSettings } from "./config.ts";
import { initialCarry, isPrioritised, assessUnanimousRound, type UnanimousCarry } from "./conclude.ts";
import { VERSION, initialPrompt, turnPrompt } from "./prompts.ts";

/** The unanimous protocol (docs/spec/unanimous.md). Settings other than the default are for experiments: on chain they are another protocol. */
export function createUnanimous(settings: UnanimousSettings): Protocol<PhasedState> {
  checkSettings(settings);
  return phased<UnanimousCarry>({
    id: "unanimous",
    code: 5,
    version: VERSION,
    title: "Deliberation to unanimity",
    assurance: "byzantine",
    // UN1: the initial round, T reflection turns, and for policies the conclusion round.
    rounds: (attempt) => settings.turns + (isPrioritised(attempt) ? 2 : 1),
    forms: (attempt) => [commitForm, revealForm, ...matchForms(attempt), closeForm],
    initial: initialCarry,
    assessRound: (book, carry) => assessUnanimousRound(book, carry, settings.turns),
    calls: (view, phase) => calls(view, phase, settings),
    say,
  });
}

export const unanimous = createUnanimous(DEFAULTS);

function calls(view: SeatView<UnanimousCarry>, phase: number, settings: UnanimousSettings): readonly Call[] {
  switch (phase) {
    case commitForm.phase:
      return [utterance(view, settings)];
    case MATCH:
      return matchCalls(view, candidatesOf(view.book, "open"));
    default:
      return [];
  }
}

function utterance(view: SeatView<UnanimousCarry>, { promptRatio }: UnanimousSettings): Call {
  const { attempt, carry, earlier, self } = view;
  const before = earlier.at(-1);
  if (before === undefined)
    return { about: ["propose"], prompt: initialPrompt(attempt, reasonsStepByStep(attempt, self, promptRatio)) };
  const own = said(before, revealForm, self)?.body.proposal ?? null;
  return { about: ["revise"], prompt: turnPrompt(before, self, own, carry.concluding) };
}

function say(view: SeatView<UnanimousCarry>, phase: number): unknown {
  switch (phase) {
    case commitForm.phase:
      return sayCommit(view);
    case revealForm.phase:
      return sayReveal(view);
    case MATCH:
      return sayMatches(view);
    default:
      return {};
  }
}
