import { MATCH, matchCalls, matchForm, matchForms, sayMatches } from "../../phases/equivalence.ts";
import { outcomeFrom } from "../../phases/outcome.ts";
import { outcomesOf } from "../../phases/pay.ts";
import { phased } from "../../phases/phased.ts";
import type { Call, JudgedRound, SeatView } from "../../phases/phased-rules.ts";
import { blindIn, candidatesOf, commitForm, revealForm, sayCommit, sayReveal } from "../../phases/proposals.ts";
import { closeForm, counted, equivocatorsIn, type RoundBook } from "../../phases/round-book.ts";
import { proposePrompt } from "../../prompts/task-prompt.ts";
import type { Attempt, SeatIndex } from "../../types.ts";
import { beliefOf, decidedBy } from "./rules.ts";

/** Raise it with every change of rules, wording or fields, and with every version it builds on (test/core/versions.test.ts). */
const VERSION = 8;

/** mbft-bayesian, sound mode (docs/spec/mbft-bayesian.md). One round: seats answer and compare texts; then the weights of evidence are added. */
export const mbftBayesian = phased<null>({
  id: "mbft-bayesian",
  code: 2,
  version: VERSION,
  title: "Bayesian metacognitive BFT, sound mode",
  assurance: "byzantine",
  refuseRequest: refuseSecured,
  rounds: () => 1,
  forms: (attempt) => [commitForm, revealForm, ...matchForms(attempt), closeForm],
  // BA1: requests and rounds carry nothing over.
  initial: () => null,
  judgeRound: judgeBayesianRound,
  calls,
  say,
});

/** SC1: where all others are unsure, f + 1 that are sure decide, and all of them sign. */
function refuseSecured({ request: { terms } }: Attempt): string | null {
  return terms.security === "secured"
    ? "mbft-bayesian answers no secured request: fewer than a quorum may decide; choose another protocol"
    : null;
}

function calls(view: SeatView<null>, phase: number): readonly Call[] {
  switch (phase) {
    case commitForm.phase:
      return [{ about: ["propose"], prompt: proposePrompt(view.attempt) }];
    case MATCH:
      return matchCalls(view, candidatesOf(view.book, "open"));
    default:
      return [];
  }
}

function say(view: SeatView<null>, phase: number): unknown {
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

/** BA8 to BA12: the outcome of the only round. */
function judgeBayesianRound(book: RoundBook): JudgedRound<null> {
  const { attempt } = book;
  const belief = beliefOf(book);
  const decided = decidedBy(belief, attempt.request.terms.assurance);
  const blind = blindIn(book);
  const winner = decided && {
    answer: decided.answer,
    confidence: belief.posterior,
    alike: outcomesOf(blind.answers, decided.seats),
  };
  const equivocators = equivocatorsIn(book);
  const slashes = attempt.committee.map((_, seat) => (equivocators.includes(seat as SeatIndex) ? 1 : 0));
  return {
    carry: null,
    outcome: outcomeFrom(attempt, { winner, blind, slashes, completed: completedBy(book, attempt) }),
  };
}

/** BA12: seats whose report counts, and that compared the texts if there were texts to compare. */
function completedBy(book: RoundBook, attempt: Attempt): readonly SeatIndex[] {
  const reported = candidatesOf(book, "closed").map(({ seat }) => seat);
  if (matchForms(attempt).length === 0) return reported;
  return reported.filter((seat) => counted(book, matchForm, seat, "closed") !== null);
}
