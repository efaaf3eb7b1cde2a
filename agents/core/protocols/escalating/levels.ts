import { matchForms } from "../../phases/equivalence.ts";
import { limits } from "../../limits.ts";
import { commitForm, revealForm } from "../../phases/proposals.ts";
import { closeForm, type AnyForm } from "../../phases/round-book.ts";
import { citeForm, sourceForm, sourcesOf } from "../../request/sources.ts";
import type { Attempt } from "../../types.ts";
import { critiqueForm } from "../debate/critiques.ts";
import { judgeForm } from "../mbft/payloads.ts";
import { voteForm } from "../../phases/votes.ts";

/** The purpose of a round (ES1). The debate's last answers are the proposals of the first mbft round. */
export type Level = "sources" | "council" | "mbft";

const memo = new WeakMap<Attempt, readonly Level[]>();

/** The levels of the rounds in order; "sources" only if the question names documents. */
export function levelsOf(attempt: Attempt): readonly Level[] {
  const known = memo.get(attempt);
  if (known !== undefined) return known;
  const rounds = Array.from({ length: limits.deliberationRounds }, (): Level => "mbft");
  const named = sourcesOf(attempt.request.question).length > 0;
  const levels: readonly Level[] = [...(named ? (["sources"] as const) : []), "council", ...rounds];
  memo.set(attempt, levels);
  return levels;
}

/** SG1: true if the question names documents. */
export function isGated(attempt: Attempt): boolean {
  return levelAt(attempt, 0) === "sources";
}

export function councilRound(attempt: Attempt): number {
  return levelsOf(attempt).indexOf("council");
}

export function levelAt(attempt: Attempt, round: number): Level {
  const level = levelsOf(attempt)[round];
  if (level === undefined) throw new RangeError(`escalating has no round ${round}`);
  return level;
}

export function formsOf(attempt: Attempt, round: number): readonly AnyForm[] {
  const answers = [commitForm, revealForm, ...matchForms(attempt)];
  switch (levelAt(attempt, round)) {
    case "sources":
      return [sourceForm, closeForm];
    case "council":
      return [...answers, critiqueForm, closeForm];
    case "mbft":
      return [...answers, ...(isGated(attempt) ? [citeForm] : []), voteForm, judgeForm];
  }
}
