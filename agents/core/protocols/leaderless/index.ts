import { phased } from "../../phases/phased.ts";
import type { Call, SeatView } from "../../phases/phased-rules.ts";
import { commitForm, revealForm, sayCommit, sayReveal } from "../../phases/proposals.ts";
import { sayEcho, sayReady } from "../../phases/reliable-broadcast.ts";
import { closeForm } from "../../phases/round-book.ts";
import { scoreCall, scoresFrom } from "../../phases/scores.ts";
import { proposePrompt } from "../../prompts/task-prompt.ts";
import type { Attempt, SeatIndex } from "../../types.ts";
import { ROUNDS, rolesOf } from "./roles.ts";
import {
  SCORE,
  answerBroadcast,
  answersOf,
  explainLeaderless,
  initialCarry,
  assessLeaderlessRound,
  scoreBroadcast,
  type LeaderlessCarry,
} from "./select.ts";

/** LL1: the phases of a round. */
const FORMS = [
  commitForm,
  revealForm,
  answerBroadcast.echo,
  answerBroadcast.ready,
  scoreBroadcast.sent,
  scoreBroadcast.echo,
  scoreBroadcast.ready,
  closeForm,
];

/** Raised with every change of rules, wording or fields, and with every version it builds on (test/core/versions.test.ts). */
const VERSION = 20;

/** DecentLLMs (docs/spec/leaderless.md): what a seat asks and says. `roles.ts` and `select.ts` are the rule book. */
export const leaderless = phased<LeaderlessCarry>({
  id: "leaderless",
  code: 4,
  version: VERSION,
  title: "DecentLLMs: workers and evaluators, geometric median",
  assurance: "byzantine",
  refuseRequest: refuseLeaderless,
  rounds: () => ROUNDS,
  forms: () => FORMS,
  speakers,
  initial: initialCarry,
  assessRound: assessLeaderlessRound,
  explain: explainLeaderless,
  calls,
  say,
});

/**
 * LL17: no seat compares texts here, so f evaluators could hang every request that needs 2/3 behind one wording. SC1: most seats mark
 * answers and give none, so that no committee could overturn another one (SC2).
 */
function refuseLeaderless({ request: { terms } }: Attempt): string | null {
  if (terms.security === "secured")
    return "leaderless answers no secured request: too few seats answer before they see others; choose another protocol";
  return terms.kind === "text" && terms.assurance === "high"
    ? "leaderless has no high assurance for texts: it does not compare wordings; ask with normal assurance, or another protocol"
    : null;
}

/** LL3: only workers commit and only evaluators score; the whole committee (null) reveals, echoes, vouches and closes. */
function speakers(attempt: Attempt, round: number, phase: number): readonly SeatIndex[] | null {
  const { workers, evaluators } = rolesOf(attempt, round);
  if (phase === commitForm.phase) return workers;
  return phase === SCORE ? evaluators : null;
}

/** LL6: a worker makes one call; an evaluator makes one call per answer, all at once. */
function calls(view: SeatView<LeaderlessCarry>, phase: number): readonly Call[] {
  if (phase === commitForm.phase) return [{ about: ["propose"], prompt: proposePrompt(view.attempt) }];
  if (phase !== SCORE) return [];
  return answersOf(view.book, "open").map((candidate) => scoreCall(view.attempt, candidate));
}

function say(view: SeatView<LeaderlessCarry>, phase: number): unknown {
  const { attempt, book, round, self } = view;
  switch (phase) {
    case commitForm.phase:
      return sayCommit(view);
    case revealForm.phase:
      // LL3: an evaluator has nothing to reveal.
      return rolesOf(attempt, round).workers.includes(self) ? sayReveal(view) : { proposal: null };
    case answerBroadcast.echo.phase:
      return sayEcho(book, answerBroadcast);
    case answerBroadcast.ready.phase:
      return sayReady(book, answerBroadcast);
    case SCORE:
      return scoresFrom(answersOf(book, "open"), view.answered(SCORE), ({ target }) => target);
    case scoreBroadcast.echo.phase:
      return sayEcho(book, scoreBroadcast);
    case scoreBroadcast.ready.phase:
      return sayReady(book, scoreBroadcast);
    default:
      return {};
  }
}
