import { MATCH, matchCalls, matchForm, matchForms, sayMatches } from "../../phases/equivalence.ts";
import { outcomeFrom } from "../../phases/outcome.ts";
import { outcomesOf, type Blind } from "../../phases/pay.ts";
import { phased } from "../../phases/phased.ts";
import type { Call, AssessedRound, SeatView } from "../../phases/phased-rules.ts";
import { blindIn, candidatesOf, commitForm, revealForm, sayCommit, sayReveal } from "../../phases/proposals.ts";
import { explainClasses } from "../../phases/reasons.ts";
import { closeForm, counted, equivocatorsIn, said, type RoundBook } from "../../phases/round-book.ts";
import { limits } from "../../limits.ts";
import { renderedBytes } from "../../prompts/prompt.ts";
import { lineOf, proposePrompt, revisePrompt } from "../../prompts/task-prompt.ts";
import type { Attempt, SeatIndex } from "../../types.ts";
import { beliefOf, countedIn, decidedBy, explainBelief } from "./rules.ts";

/** Raise it with every change of rules, wording or fields, and with every version it builds on (test/core/versions.test.ts). */
const VERSION = 21;

/** BA1: a second round follows where the first decides nothing. */
const ROUNDS = 2;

/** What the first round leaves behind for the second. */
export interface BayesianCarry {
  /** PY7: the reports of the first round; null before it was assessed. */
  readonly blind: Blind | null;
  /** Slashes per seat so far. */
  readonly slashes: readonly number[];
}

/** mbft-bayesian, sound mode (docs/spec/mbft-bayesian.md). In a round seats answer and compare texts; then the weights of evidence are added. */
export const mbftBayesian = phased<BayesianCarry>({
  id: "mbft-bayesian",
  code: 2,
  version: VERSION,
  title: "Bayesian metacognitive BFT, sound mode",
  assurance: "byzantine",
  refuseRequest: refuseSecured,
  rounds: () => ROUNDS,
  forms: (attempt) => [commitForm, revealForm, ...matchForms(attempt), closeForm],
  // BA1: requests carry nothing over.
  initial: ({ committee }) => ({ blind: null, slashes: committee.map(() => 0) }),
  assessRound: assessBayesianRound,
  explain: (book) => [...explainClasses(book), ...explainBelief(beliefOf(book), book.attempt)],
  calls,
  say,
});

/** SC1: where all others are unsure, f + 1 that are sure decide, and all of them sign. */
function refuseSecured({ request: { terms } }: Attempt): string | null {
  return terms.security === "secured"
    ? "mbft-bayesian answers no secured request: fewer than a quorum may decide; choose another protocol"
    : null;
}

function calls(view: SeatView<BayesianCarry>, phase: number): readonly Call[] {
  switch (phase) {
    case commitForm.phase:
      return [{ about: ["propose"], prompt: reportPrompt(view) }];
    case MATCH:
      return matchCalls(view, candidatesOf(view.book, "open"));
    default:
      return [];
  }
}

/** BA14: in the second round a seat sees what others reported in the first, the weightiest first, as much as fits. */
function reportPrompt({ attempt, earlier, self }: SeatView<BayesianCarry>): Call["prompt"] {
  const before = earlier.at(-1);
  if (before === undefined) return proposePrompt(attempt);
  const reports = candidatesOf(before, "closed");
  const others = beliefOf(before)
    .hypotheses.filter(({ seats }) => !seats.includes(self))
    .toSorted((a, b) => (a.weight === b.weight ? 0 : a.weight < b.weight ? 1 : -1))
    .map(({ answer, seats }) => lineOf(answer.text, reports.find(({ seat }) => seat === seats[0])?.proof ?? ""));
  let bytes = 0;
  const fitting = others.filter((text) => (bytes += renderedBytes(text)) <= limits.objectionsBytes);
  return revisePrompt(attempt, said(before, revealForm, self)?.body.proposal ?? null, fitting);
}

function say(view: SeatView<BayesianCarry>, phase: number): unknown {
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

/** BA8 to BA12, BA14, BA15: the outcome of a round that decides, or of the last one. */
function assessBayesianRound(book: RoundBook, before: BayesianCarry): AssessedRound<BayesianCarry> {
  const { attempt, round } = book;
  const belief = beliefOf(book);
  const decided = countedIn(belief, attempt) ?? decidedBy(belief, attempt.request.terms.assurance);
  const blind = before.blind ?? blindIn(book);
  const equivocators = equivocatorsIn(book);
  const slashes = before.slashes.map((count, seat) => count + (equivocators.includes(seat as SeatIndex) ? 1 : 0));
  const carry = { blind, slashes };
  if (decided === null && round + 1 < ROUNDS) return { carry, outcome: null };
  const winner = decided && {
    answer: decided.answer,
    alike: outcomesOf(candidatesOf(book, "closed"), decided.seats),
  };
  return { carry, outcome: outcomeFrom(attempt, { winner, blind, slashes, completed: completedBy(book, attempt) }) };
}

/** BA12: seats whose report counts, and that compared the texts if there were texts to compare. */
function completedBy(book: RoundBook, attempt: Attempt): readonly SeatIndex[] {
  const reported = candidatesOf(book, "closed").map(({ seat }) => seat);
  if (matchForms(attempt).length === 0) return reported;
  return reported.filter((seat) => counted(book, matchForm, seat, "closed") !== null);
}
