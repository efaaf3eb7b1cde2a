import { MATCH, matchCalls, sayMatches } from "../../phases/equivalence.ts";
import { phased } from "../../phases/phased.ts";
import type { Call, SeatView } from "../../phases/phased-rules.ts";
import { explainClasses } from "../../phases/reasons.ts";
import { candidatesOf, commitForm, revealForm, sayCommit, sayReveal } from "../../phases/proposals.ts";
import { proposePrompt } from "../../prompts/task-prompt.ts";
import type { Attempt } from "../../types.ts";
import { CRITIQUE, critiqueCalls, critiquesOf, replyPrompt, sayCritiques } from "../debate/critiques.ts";
import { mbftCalls, mbftSay, refuseMbft } from "../mbft/index.ts";
import { explainMbft, type MbftCarry } from "../mbft/conclude.ts";
import { JUDGE } from "../mbft/payloads.ts";
import { VOTE } from "../../phases/votes.ts";
import { initialCarry, isDebate, assessEscalatingRound, type EscalatingCarry } from "./assess.ts";
import { acceptedOf, agreementIn, isContested } from "./rules.ts";
import { COUNCIL, formsOf, levelAt, ROUNDS } from "./levels.ts";

/** Raised with every change of rules, wording or fields, and with every version it builds on (test/core/versions.test.ts). */
const VERSION = 27;

/** ES2: the most seats, since a cross-examination has one letter per peer. */
const MOST_SEATS = 26;

/** escalating (docs/spec/escalating.md): a council, then a debate if the council is contested, then mbft. */
export const escalating = phased<EscalatingCarry>({
  id: "escalating",
  code: 10,
  version: VERSION,
  title: "Council, debate, then mbft",
  assurance: "byzantine",
  mostSeats: MOST_SEATS,
  refuseRequest: refuseEscalating,
  rounds: () => ROUNDS,
  forms: formsOf,
  initial: initialCarry,
  assessRound: assessEscalatingRound,
  explain: (book, carry, answers) =>
    levelAt(book.round) === "mbft" ? explainMbft(book, carry.mbft) : explainClasses(answers),
  calls: (view, phase) => (levelAt(view.round) === "council" ? councilCalls(view, phase) : decisionCalls(view, phase)),
  say,
});

function refuseEscalating(attempt: Attempt): string | null {
  const seats = attempt.committee.length;
  if (seats > MOST_SEATS) return `a cross-examination has room for ${MOST_SEATS} seats, not ${seats}`;
  return refuseMbft(attempt);
}

/** ES3, ES6: the calls of the council. */
function councilCalls(view: SeatView<EscalatingCarry>, phase: number): readonly Call[] {
  const { attempt, book } = view;
  switch (phase) {
    case commitForm.phase:
      return [{ about: ["propose"], prompt: proposePrompt(attempt) }];
    case MATCH:
      return matchCalls(view, candidatesOf(book, "open"));
    case CRITIQUE: {
      const candidates = candidatesOf(book, "open");
      return isContested(attempt, agreementIn(book, candidates, "open")) ? critiqueCalls(view, book, candidates) : [];
    }
    default:
      return [];
  }
}

/** ES7, ES8: mbft's calls. After a debate the first calls are its replies, and accepted answers need no votes. */
function decisionCalls(view: SeatView<EscalatingCarry>, phase: number): readonly Call[] {
  const { attempt, book, carry, round } = view;
  const isReply = isDebate(round, carry);
  const reply = isReply && phase === commitForm.phase ? replyTo(view) : null;
  if (reply !== null) return [{ about: ["propose"], prompt: reply }];
  const isDecided = isReply && acceptedOf(attempt, agreementIn(book, candidatesOf(book, "open"), "open")) !== null;
  return isDecided && (phase === VOTE || phase === JUDGE) ? [] : mbftCalls(asMbft(view), phase);
}

/** The seat's view with the rounds as mbft counts them. */
function asMbft(view: SeatView<EscalatingCarry>): SeatView<MbftCarry> {
  return { ...view, carry: view.carry.mbft, earlier: view.earlier.slice(COUNCIL + 1) };
}

/** ES7: asks for a reply to the critiques of the own first answer; null for a seat without one, which answers anew. */
function replyTo({ attempt, earlier, self }: SeatView<EscalatingCarry>): Call["prompt"] | null {
  const council = earlier.at(-1);
  const own = council && candidatesOf(council, "closed").find(({ seat }) => seat === self);
  return council && own ? replyPrompt(attempt, own, critiquesOf(council, council, own, "closed")) : null;
}

function say(view: SeatView<EscalatingCarry>, phase: number): unknown {
  switch (phase) {
    case commitForm.phase:
      return sayCommit(view);
    case revealForm.phase:
      return sayReveal(view);
    case MATCH:
      return sayMatches(view);
    default:
      return levelAt(view.round) === "council" ? sayCritiques(view) : mbftSay(asMbft(view), phase);
  }
}
