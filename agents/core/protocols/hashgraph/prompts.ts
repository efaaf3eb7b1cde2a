import type { AnswerGroup } from "../../request/answer.ts";
import { compareHex, concat, hexToBytes, sha256 } from "../../encoding/bytes.ts";
import { limits } from "../../limits.ts";
import { cutText, renderedBytes, type Prompt } from "../../prompts/prompt.ts";
import type { Proposal } from "../../phases/proposals.ts";
import { lineOf, revisePrompt, verifyPrompt } from "../../prompts/task-prompt.ts";
import type { Attempt, SeatIndex } from "../../types.ts";
import type { AnswerRound } from "./rules.ts";

/** Raised with every change of rules, wording or fields, and with every version it builds on (test/core/versions.test.ts). */
export const VERSION = 8;

/** Whom a prompt is for. */
export interface Reader {
  readonly attempt: Attempt;
  readonly seat: SeatIndex;
  /** HG23: nobody else knows it. */
  readonly salt: Uint8Array;
}

/**
 * HG22: what the round before brought, anonymous, the most supported answer first (P3). An answer stands there once, with the
 * number of its supporters and one of their proofs. Above `limits.objectionsBytes`, as prompts show texts (P9), only what differs from the own answer is
 * shown, then without proofs, then only the first of it (P9).
 */
export function nextPrompt(reader: Reader, own: Proposal | null, last: AnswerRound): Prompt {
  const { attempt, seat: self } = reader;
  const others = last.classes.filter(({ seats }) => seats.some((seat) => seat !== self));
  const differing = others.filter(({ seats }) => !seats.includes(self));
  const asked = attempt.committee.length;
  const say = (group: AnswerGroup, isProven: boolean): string => {
    const answer = group.representative.text;
    const text = isProven ? lineOf(answer, proofOf(reader, group, last)) : cutText(answer, limits.answerBytes);
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
 * HG23: of a class's proofs that with the least hash of the reader's salt and its event's digest. The first in canonical order would
 * tell whose it is, the least by bytes could be had by writing it so.
 */
function proofOf({ salt }: Reader, { seats }: AnswerGroup, { outputs }: AnswerRound): string {
  const keyed = outputs
    .filter(({ seat }) => seats.includes(seat))
    .map(({ digest, proposal }) => ({ key: sha256(concat(salt, hexToBytes(digest))), proof: proposal.proof }));
  return keyed.toSorted((a, b) => compareHex(a.key, b.key))[0]?.proof ?? "";
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + renderedBytes(text), 0);
}

function firstFitting(texts: readonly string[]): readonly string[] {
  let bytes = 0;
  return texts.filter((text) => (bytes += renderedBytes(text)) <= limits.objectionsBytes);
}

/** HG19: the explicit vote: is this one of the two right? */
export function votePrompt(reader: Reader, candidate: AnswerGroup, last: AnswerRound): Prompt {
  return verifyPrompt(reader.attempt, candidate.representative.text, proofOf(reader, candidate, last));
}
