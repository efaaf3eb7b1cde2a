import { matchForms } from "../../phases/equivalence.ts";
import { limits } from "../../limits.ts";
import { commitForm, revealForm } from "../../phases/proposals.ts";
import { closeForm, type AnyForm } from "../../phases/round-book.ts";
import type { Attempt } from "../../types.ts";
import { critiqueForm } from "../debate/critiques.ts";
import { judgeForm } from "../mbft/payloads.ts";
import { voteForm } from "../../phases/votes.ts";

/** The purpose of a round (ES1). The debate's last answers are the proposals of the first mbft round. */
export type Level = "council" | "mbft";

/** ES1: the round of the council. */
export const COUNCIL = 0;

/** ES1: the council and the rounds of mbft. */
export const ROUNDS = 1 + limits.deliberationRounds;

export function levelAt(round: number): Level {
  return round === COUNCIL ? "council" : "mbft";
}

export function formsOf(attempt: Attempt, round: number): readonly AnyForm[] {
  const answers = [commitForm, revealForm, ...matchForms(attempt)];
  return levelAt(round) === "council" ? [...answers, critiqueForm, closeForm] : [...answers, voteForm, judgeForm];
}
