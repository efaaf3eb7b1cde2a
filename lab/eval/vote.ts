import { canonicalAnswer, groupAnswers, type AnswerGroup } from "../../agents/core/request/answer.ts";
import type { Prompt } from "../../agents/core/prompts/prompt.ts";
import type { Asked } from "../../agents/core/request/kinds.ts";
import { grounded } from "../../agents/core/sources/named.ts";
import type { Attempt, SeatIndex } from "../../agents/core/types.ts";
import { createRandom } from "../../sim/random.ts";
import type { Answer } from "./answer-book.ts";
import type { Result } from "./deliberate.ts";
import type { Panel } from "./panel.ts";

/** Samples asked at a time. */
const STEP = 4;
/** The number of samples from which on the most frequent answer hardly changes. */
const MOST_SAMPLES = 64;

export interface Voted extends Pick<Result, "status" | "answer"> {
  readonly samples: number;
  readonly tokens: number;
}

/** What lanes are asked, and say; without `lieOf` all are honest. */
export interface Sampling {
  readonly promptOf: (lane: number) => Prompt;
  readonly lieOf?: LieOf;
}

/** What a bad lane says instead of its model's answer; null for an honest lane. */
export type LieOf = (lane: number) => string | null;

/**
 * Self-consistency: as many independent first answers as the tokens pay for, at least one and at most 64. The decision
 * is the answer that most of them give. A failed call, or an answer that does not fit the question's kind, is a sample
 * without a vote. A lying lane costs what an honest one costs.
 */
export async function selfConsistency(
  attempt: Attempt,
  panel: Panel,
  tokens: number,
  { promptOf, lieOf = () => null }: Sampling,
): Promise<Voted> {
  const taken: string[] = [];
  let spent = 0;
  for (let lane = 0; lane < MOST_SAMPLES; lane += STEP) {
    const lanes = Array.from({ length: STEP }, (_, index) => lane + index);
    const answers = await Promise.all(lanes.map(async (one) => await panel.ask(one, promptOf(one).small)));
    for (const [index, answer] of answers.entries()) {
      const cost = answer.kind === "answered" ? answer.promptTokens + answer.outputTokens : 0;
      if (taken.length > 0 && spent + cost > tokens) return votedOn(attempt, taken, spent);
      taken.push(lieOf(lane + index) ?? textOf(answer));
      spent += cost;
    }
  }
  return votedOn(attempt, taken, spent);
}

function votedOn(attempt: Attempt, taken: readonly string[], tokens: number): Voted {
  const { question } = attempt.request;
  return { ...plainVote(grounded(attempt).request, taken, question), samples: taken.length, tokens };
}

/** The text that a model answered; empty if its call failed. */
export function textOf(answer: Answer): string {
  return answer.kind === "answered" ? (answer.fields["answer"] ?? "") : "";
}

/** The answer of the largest class, of equally large ones one at random; `drawnBy` fixes which. */
export function plainVote(asked: Asked, texts: readonly string[], drawnBy: string): Pick<Result, "status" | "answer"> {
  const groups = groupsOf(asked, texts);
  const most = groups[0]?.seats.length;
  if (most === undefined) return { status: "hung", answer: null };
  const equals = groups.filter(({ seats }) => seats.length === most);
  const chosen = createRandom(texts.length, `ties of ${drawnBy}`).pick(equals);
  return { status: "decided", answer: chosen.representative.text };
}

/** Returns classes of agreeing answers, the largest first. */
export function groupsOf(asked: Asked, texts: readonly string[]): readonly AnswerGroup[] {
  const answers = texts.flatMap((text, seat) => {
    const answer = canonicalAnswer(asked, text);
    return answer === null ? [] : [{ seat: seat as SeatIndex, answer }];
  });
  return groupAnswers(asked.terms, answers).toSorted((a, b) => b.seats.length - a.seats.length);
}
