import type { AnswerGroup } from "../../answer.ts";
import { utf8 } from "../../digest.ts";
import { limits } from "../../limits.ts";
import type { Prompt } from "../../prompt.ts";
import type { Proposal } from "../../proposals.ts";
import { revisePrompt, TASKS_VERSION, verifyPrompt } from "../../task-prompt.ts";
import type { Attempt, SeatIndex } from "../../types.ts";
import type { RoundResult } from "./rules.ts";

/** Raised with every change of wording or rules; part of the protocol version. */
export const VERSION = TASKS_VERSION;

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

/** HG19: the explicit vote (H11): is this one of the two right? */
export function votePrompt(attempt: Attempt, candidate: AnswerGroup, last: RoundResult): Prompt {
  return verifyPrompt(attempt, candidate.representative.text, proofOf(candidate, last));
}
