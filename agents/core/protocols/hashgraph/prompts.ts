import type { AnswerGroup } from "../../answer.ts";
import { utf8 } from "../../digest.ts";
import { limits } from "../../limits.ts";
import type { Prompt } from "../../prompt.ts";
import type { Proposal } from "../../proposals.ts";
import {
  answerSchema,
  letter,
  lettered,
  revisePrompt,
  taskPrompt,
  TASKS_VERSION,
  type Task,
} from "../../task-prompt.ts";
import type { Attempt, SeatIndex } from "../../types.ts";
import type { RoundResult } from "./rules.ts";

/** Raised with every change of wording or rules; part of the protocol version. */
export const VERSION = TASKS_VERSION;

const VOTE: Task = {
  name: "vote",
  instructions:
    "The members could not agree; two answers are left. Decide which of them is right: `proof` is a short trace of checkable steps, `answer` " +
    "is the one you endorse, written as the reply form allows.",
};

/**
 * HG22: what the round before brought, anonymous, the most supported answer first (H05, H14). An answer stands there once, with the
 * number of its supporters and one of their proofs. Above `limits.objectionsBytes` only what differs from the own answer is
 * shown, then without proofs, then only the first of it (H18).
 */
export function nextPrompt(attempt: Attempt, self: SeatIndex, own: Proposal | null, last: RoundResult): Prompt {
  const others = last.classes.filter(({ seats }) => seats.some((seat) => seat !== self));
  const differing = others.filter(({ seats }) => !seats.includes(self));
  const asked = attempt.committee.length;
  const say = (group: AnswerGroup, isProven: boolean): string => {
    const text = `${group.seats.length} of ${asked} members: ${group.representative.text}`;
    return isProven ? `${text}: ${proofOf(group, last)}` : text;
  };
  const whole = [...differing, ...others.filter((group) => !differing.includes(group))].map((group) =>
    say(group, true),
  );
  const contexts = [whole, differing.map((group) => say(group, true)), differing.map((group) => say(group, false))];
  const fitting = contexts.find((texts) => bytesOf(texts) <= limits.objectionsBytes);
  return revisePrompt(attempt, own, fitting ?? firstFitting(contexts.at(-1) ?? []));
}

/** The proof of the class's first seat in canonical order would tell who it is; the least by bytes does not. */
function proofOf({ seats }: AnswerGroup, { outputs }: RoundResult): string {
  const proofs = outputs.filter(({ seat }) => seats.includes(seat)).map(({ proposal }) => proposal.proof);
  return proofs.toSorted((a, b) => (a === b ? 0 : a < b ? -1 : 1))[0] ?? "";
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + utf8(text).length, 0);
}

function firstFitting(texts: readonly string[]): readonly string[] {
  let bytes = 0;
  return texts.filter((text) => (bytes += utf8(text).length) <= limits.objectionsBytes);
}

/** HG19: the explicit vote (H11). Texts are named by letters, other answers by themselves. */
export function votePrompt(attempt: Attempt, candidates: readonly AnswerGroup[]): Prompt {
  const texts = candidates.map(({ representative }) => representative.text);
  const { properties } = answerSchema(attempt.request.terms);
  const schema = {
    properties: properties.map((property) =>
      property.name === "answer" ? { name: "answer", enum: ballotWords(attempt, candidates) } : property,
    ),
  };
  return taskPrompt(attempt, VOTE, lettered("answer", texts), schema, "answer");
}

/** What a ballot may say, in the order of the candidates. */
export function ballotWords(attempt: Attempt, candidates: readonly AnswerGroup[]): readonly string[] {
  const { terms } = attempt.request;
  return terms.kind === "text"
    ? candidates.map((_, index) => letter(index))
    : candidates.map(({ representative }) => representative.text);
}
