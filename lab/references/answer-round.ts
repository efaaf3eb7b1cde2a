import { SYNTHESIS, synthesisForm } from "../../agents/core/phases/chaired.ts";
import { closeForm, type AnyForm, type RoundBook } from "../../agents/core/phases/round-book.ts";
import { roundSlots, type Tally } from "../../agents/core/seat/tally.ts";
import type { Attempt } from "../../agents/core/types.ts";

/** Round 0 of a chaired protocol, as a message set shows it. `members` are the phases in which the seats answer. */
export function answerRound(attempt: Attempt, members: readonly AnyForm[], tally: Tally): RoundBook {
  const forms = [...members, synthesisForm, closeForm];
  return { attempt, round: 0, plan: { forms, partial: new Set([SYNTHESIS]) }, slots: roundSlots(tally, 0) };
}
