import { canonicalAnswer, groupAnswers, type AnswerGroup } from "../../agents/core/request/answer.ts";
import { proposePrompt } from "../../agents/core/prompts/task-prompt.ts";
import type { Attempt, SeatIndex, Terms } from "../../agents/core/types.ts";
import type { Answer } from "./answer-book.ts";
import type { Verdict } from "./deliberate.ts";
import type { Panel } from "./panel.ts";

/** Samples asked at a time. */
const STEP = 4;
const MOST_SAMPLES = 256;

export interface Voted extends Verdict {
  readonly samples: number;
  readonly tokens: number;
}

/**
 * Self-consistency: as many independent first answers as the tokens pay for, at least one. The decision is the answer
 * that most of them give; of equals the one that came first. A failed call, or an answer that does not fit the
 * question's kind, is a sample without a vote.
 */
export async function selfConsistency(attempt: Attempt, panel: Panel, tokens: number): Promise<Voted> {
  const taken: Answer[] = [];
  let spent = 0;
  for (let lane = 0; lane < MOST_SAMPLES; lane += STEP) {
    const lanes = Array.from({ length: STEP }, (_, index) => lane + index);
    const answers = await Promise.all(lanes.map(async (one) => await panel.ask(one, proposePrompt(attempt).small)));
    for (const answer of answers) {
      const cost = answer.kind === "answered" ? answer.promptTokens + answer.outputTokens : 0;
      if (taken.length > 0 && spent + cost > tokens) return votedOn(attempt.request.terms, taken, spent);
      taken.push(answer);
      spent += cost;
    }
  }
  return votedOn(attempt.request.terms, taken, spent);
}

function votedOn(terms: Terms, taken: readonly Answer[], tokens: number): Voted {
  const texts = taken.map((answer) => (answer.kind === "answered" ? (answer.fields["answer"] ?? "") : ""));
  return { ...plainVote(terms, texts), criticalPath: 1, samples: taken.length, tokens };
}

/** The answer of the largest class. */
export function plainVote(terms: Terms, texts: readonly string[]): Pick<Verdict, "status" | "answer"> {
  const best = groupsOf(terms, texts)[0];
  return best === undefined
    ? { status: "hung", answer: null }
    : { status: "decided", answer: best.representative.text };
}

/** Returns classes of agreeing answers, the largest first, of equals the one with the earliest answer. */
export function groupsOf(terms: Terms, texts: readonly string[]): readonly AnswerGroup[] {
  const answers = texts.flatMap((text, seat) => {
    const answer = canonicalAnswer({ terms, question: "" }, text);
    return answer === null ? [] : [{ seat: seat as SeatIndex, answer }];
  });
  const first = ({ seats }: AnswerGroup): number => seats[0] as number;
  return groupAnswers(terms, answers).toSorted((a, b) => b.seats.length - a.seats.length || first(a) - first(b));
}
