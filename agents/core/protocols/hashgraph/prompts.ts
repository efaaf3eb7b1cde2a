import type { AnswerGroup } from "../../request/answer.ts";
import { compareHex, concat, hexToBytes, sha256 } from "../../encoding/bytes.ts";
import { limits } from "../../limits.ts";
import { cutText, renderedBytes, type Prompt } from "../../prompts/prompt.ts";
import type { Proposal } from "../../phases/proposals.ts";
import { lineOf, revisePrompt, verifyPrompt } from "../../prompts/task-prompt.ts";
import type { Citation } from "../../sources/citations.ts";
import type { Attempt, SeatIndex } from "../../types.ts";
import type { AnswerRound } from "./rules.ts";

/** Raised with every change of rules, wording or fields, and with every version it builds on (test/core/versions.test.ts). */
export const VERSION = 20;

/** The seat that a prompt is for. `attempt` has the question as models see it (SG7). */
export interface Reader {
  readonly attempt: Attempt;
  readonly seat: SeatIndex;
  /** HG23: no other seat knows it. */
  readonly salt: Uint8Array;
}

/**
 * HG22: shows the answers of the round before, anonymous, the most supported first (P3): each once, with the number of its supporters and
 * one of their proofs. If they take more than `limits.objectionsBytes` as prompts show texts (P9), only answers that differ from the own
 * one are shown, then these without proofs, then only the first of them.
 */
export function nextPrompt(reader: Reader, own: Proposal | null, last: AnswerRound): Prompt {
  const { attempt, seat: self } = reader;
  const others = last.classes.filter(({ seats }) => seats.some((seat) => seat !== self));
  const differing = others.filter(({ seats }) => !seats.includes(self));
  const asked = attempt.committee.length;
  const say = (group: AnswerGroup, isProven: boolean): string => {
    const answer = group.representative.text;
    const text = isProven
      ? lineOf(answer, shownOf(reader, group, last)?.proof ?? "")
      : cutText(answer, limits.answerBytes);
    return `${group.seats.length} of ${asked} members: ${text}`;
  };
  const whole = [...differing, ...others.filter((group) => !differing.includes(group))].map((group) =>
    say(group, true),
  );
  const contexts = [whole, differing.map((group) => say(group, true)), differing.map((group) => say(group, false))];
  const fitting = contexts.find((texts) => bytesOf(texts) <= limits.objectionsBytes);
  return revisePrompt(attempt, own, fitting ?? firstFitting(contexts.at(-1) ?? []));
}

/**
 * HG23: the proof of a class that is shown: the one with the least hash of the reader's salt and its event's digest. The first in canonical
 * order would tell its author, and an author could write the least by bytes.
 */
function shownOf({ salt }: Reader, { seats }: AnswerGroup, { outputs }: AnswerRound): Proposal | null {
  const keyed = outputs
    .filter(({ seat }) => seats.includes(seat))
    .map(({ digest, proposal }) => ({ key: sha256(concat(salt, hexToBytes(digest))), proposal }));
  return keyed.toSorted((a, b) => compareHex(a.key, b.key))[0]?.proposal ?? null;
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + renderedBytes(text), 0);
}

function firstFitting(texts: readonly string[]): readonly string[] {
  let bytes = 0;
  return texts.filter((text) => (bytes += renderedBytes(text)) <= limits.objectionsBytes);
}

/** HG19: the prompt of the explicit vote: is this one of the two answers right? With what the shown proof's answer cites. */
export function votePrompt(
  reader: Reader,
  one: AnswerGroup,
  last: AnswerRound,
): { readonly prompt: Prompt; readonly citations: readonly Citation[] } {
  const { proof = "", citations = [] } = shownOf(reader, one, last) ?? {};
  return { prompt: verifyPrompt(reader.attempt, one.representative.text, proof), citations };
}
