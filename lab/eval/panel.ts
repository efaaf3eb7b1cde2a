import { createHash } from "node:crypto";
import { calibratedConfidence, type CalibrationStep } from "../../agents/core/calibration.ts";
import { limits } from "../../agents/core/limits.ts";
import { renderFields, shortened, type PromptSet, type Wording } from "../../agents/core/prompts/prompt.ts";
import type { Ppm } from "../../agents/core/types.ts";
import type { Answer, AnswerBook } from "./answer-book.ts";
import type { Question } from "./question.ts";

/** What a decision costs, whether its answers come from the book or from a model. */
export interface Cost {
  readonly calls: number;
  /** Calls without an answer; their tokens are unknown and not counted. */
  readonly failed: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** The models around one question. */
export interface Panel {
  /**
   * Asks the model of a lane. A lane is a seat or a sample; it has its model and its series of seeds. As in an agent,
   * a prompt that was too long is asked once more, cut short (P9).
   */
  ask(lane: number, wording: Wording): Promise<Answer>;
  readonly cost: Cost;
}

/** What a committee asks. The lab's models want the small set of prompts. */
export type Asked = Pick<Panel, "ask"> & { readonly prompts?: PromptSet };

/** Steps of a calibration by what is confident: an answer or a verdict. */
export type Curves = Readonly<Record<string, { readonly steps: readonly CalibrationStep[] }>>;

export interface PanelOptions {
  readonly book: AnswerBook;
  readonly question: Question;
  readonly seed: number;
  /** The model of a lane, as an index of the book's variants. */
  readonly variantOf: (lane: number) => number;
  /** True for lanes that read the poisoned source; none if absent. */
  readonly isPoisoned?: (lane: number) => boolean;
  /** The calibrated curves of a variant, which its confidences go through; as the model says them if absent. */
  readonly curvesOf?: (variant: number) => Curves;
}

/**
 * The seed of a call follows from the question, not from the protocol: protocols that ask the same seat the same
 * about a question get the same answer. If a lane is asked the same twice in one decision, it answers anew.
 */
export function createPanel({ book, question, seed, variantOf, isPoisoned, curvesOf }: PanelOptions): Panel {
  const asked = new Map<string, number>();
  const cost = { calls: 0, failed: 0, promptTokens: 0, outputTokens: 0 };
  const ask = async (lane: number, wording: Wording): Promise<Answer> => {
    const { system, user, schema, confidenceOf, isSampled } = wording;
    const again = JSON.stringify([lane, system, user, schema]);
    const times = asked.get(again) ?? 0;
    asked.set(again, times + 1);
    const request = {
      system,
      user: isPoisoned?.(lane) === true ? withPoison(user, question) : user,
      schema,
      confidenceOf,
      ...(isSampled && { isSampled }),
      maxTokens: limits.modelOutputTokens,
      seed: hash31([seed, question.text, again, times]),
    };
    cost.calls += 1;
    const answer = await book.ask(variantOf(lane), request);
    if (answer.kind === "answered") {
      cost.promptTokens += answer.promptTokens;
      cost.outputTokens += answer.outputTokens;
      const steps = curvesOf?.(variantOf(lane))[confidenceOf]?.steps;
      const raw = answer.confidencePpm;
      if (steps === undefined || raw === null) return answer;
      return { ...answer, confidencePpm: calibratedConfidence(steps, raw as Ppm) };
    }
    cost.failed += 1;
    const shorter = shortened(wording, answer.reason);
    return shorter === null ? answer : await ask(lane, shorter);
  };
  return { cost, ask };
}

export function tokensOf({ promptTokens, outputTokens }: Cost): number {
  return promptTokens + outputTokens;
}

/** The same prompt for a lane that looked the rules up in the poisoned source. */
function withPoison(user: string, { text, poisoned = text }: Question): string {
  const line = (question: string): string => renderFields([["question", question, "untrusted"]]);
  return user.replace(line(text), () => line(poisoned));
}

function hash31(parts: readonly unknown[]): number {
  return createHash("sha256").update(JSON.stringify(parts)).digest().readUInt32BE(0) >>> 1;
}
