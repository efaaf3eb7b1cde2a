import { MATCH, matchCalls, matchForms, sayMatches } from "../../phases/equivalence.ts";
import { phased } from "../../phases/phased.ts";
import type { Call, SeatView } from "../../phases/phased-rules.ts";
import { candidatesOf, commitForm, revealForm, sayCommit, sayReveal } from "../../phases/proposals.ts";
import { closeForm, type AnyForm } from "../../phases/round-book.ts";
import { scoreCall, scoresFrom } from "../../phases/scores.ts";
import { proposePrompt, verifyPrompt } from "../../prompts/task-prompt.ts";
import type { Attempt, Digest, SeatIndex } from "../../types.ts";
import { FINAL, LEAD, PREPARE, SCORE, finalForm, leadForm, prepareForm, scoresForm, type Choice } from "./payloads.ts";
import {
  classesIn,
  explainWbft,
  initialCarry,
  assessWbftRound,
  leaderOf,
  ledIn,
  ownLock,
  permits,
  seesCertificate,
  viewsOf,
  type Led,
  type WbftCarry,
} from "./views.ts";
import { weighedClasses, toScore, type WeighedClass } from "./weights.ts";

const VIEW_FORMS: readonly AnyForm[] = [leadForm, prepareForm, finalForm, closeForm];

/** Raised with every change of rules, wording or fields, and with every version it builds on (test/core/versions.test.ts). */
const VERSION = 23;

/** wbft (docs/spec/wbft.md): what a seat asks and says. `weights.ts` and `views.ts` are the rule book. A round is a view of the paper. */
export const wbft = phased<WbftCarry>({
  id: "wbft",
  code: 3,
  version: VERSION,
  title: "Weighted BFT with rotating leaders",
  assurance: "byzantine",
  rounds: viewsOf,
  forms,
  speakers: (attempt, view, phase) => (phase === LEAD ? [leaderOf(attempt, view)] : null),
  initial: initialCarry,
  assessRound: assessWbftRound,
  explain: explainWbft,
  calls,
  say,
});

/** WB1, WB2: answers and scores are given in view 0, for all views. */
function forms(attempt: Attempt, view: number): readonly AnyForm[] {
  return view === 0 ? [commitForm, revealForm, ...matchForms(attempt), scoresForm, ...VIEW_FORMS] : VIEW_FORMS;
}

function calls(view: SeatView<WbftCarry>, phase: number): readonly Call[] {
  const { attempt, book } = view;
  switch (phase) {
    case commitForm.phase:
      return [{ about: ["propose"], prompt: proposePrompt(attempt) }];
    case MATCH:
      return matchCalls(view, candidatesOf(book, "open"));
    case SCORE:
      return toScore(weighedClasses(book, "open")).map((candidate) => scoreCall(attempt, candidate));
    case PREPARE:
      return comparison(view);
    default:
      return [];
  }
}

function say(view: SeatView<WbftCarry>, phase: number): unknown {
  switch (phase) {
    case commitForm.phase:
      return sayCommit(view);
    case revealForm.phase:
      return sayReveal(view);
    case MATCH:
      return sayMatches(view);
    case SCORE:
      return scoresFrom(
        toScore(weighedClasses(view.book, "open")),
        view.answered(SCORE),
        ({ answer }) => answer.outcome,
      );
    case LEAD:
      return { target: proposalOf(view) } satisfies Choice;
    case PREPARE:
      return { target: voteOf(view) } satisfies Choice;
    case FINAL:
      return { target: seesCertificate(view)?.candidate.target ?? null } satisfies Choice;
    default:
      return {};
  }
}

/** WB10: what the leader proposes: the class of the highest prepare certificate in the set, else its own class, else the largest. */
function proposalOf(view: SeatView<WbftCarry>): Digest | null {
  const { carry, self } = view;
  const classes = classesIn(view);
  const { certificate } = carry;
  const certified = certificate && classes.find(({ answer }) => answer.outcome === certificate.outcome);
  const chosen = certified ?? ownClass(classes, self) ?? classes[0];
  // Its own answer, if that is in the class.
  const member = chosen?.members.find(({ seat }) => seat === self) ?? chosen?.members[0];
  return member?.target ?? null;
}

function ownClass(classes: readonly WeighedClass[], seat: SeatIndex): WeighedClass | undefined {
  return classes.find(({ members }) => members.some((member) => member.seat === seat));
}

/** The proposal that a follower may vote for, and whether it is its own class or must be compared first (WB11). */
function votable(view: SeatView<WbftCarry>): { readonly led: Led; readonly isOwn: boolean } | null {
  const classes = classesIn(view);
  const led = ledIn(view.book, classes, "open");
  if (led === null) return null;
  const lock = ownLock(view);
  if (!permits(lock, view.carry.certificate, led.class)) return null;
  const isOwn = led.class === ownClass(classes, view.self) || lock?.outcome === led.class.answer.outcome;
  return { led, isOwn };
}

/** WB11: one call, and only if the proposed answer is not the own one. */
function comparison(view: SeatView<WbftCarry>): readonly Call[] {
  const chosen = votable(view);
  if (chosen === null || chosen.isOwn) return [];
  const { target, answer, proof } = chosen.led.candidate;
  return [{ about: ["verify", target], prompt: verifyPrompt(view.attempt, answer.text, proof) }];
}

/** WB11: a vote for an answer that is at least as good as the own one; null if not, or if the call failed. */
function voteOf(view: SeatView<WbftCarry>): Digest | null {
  const chosen = votable(view);
  if (chosen === null) return null;
  const { target } = chosen.led.candidate;
  const isAccepted = view
    .answered(PREPARE)
    .some(({ about, fields }) => about[1] === target && fields["verdict"] === "accept");
  return chosen.isOwn || isAccepted ? target : null;
}
