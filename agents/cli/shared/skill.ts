import { skillOf, type SkillCounters } from "../../core/skill.ts";
import type { Outcome, SeatIndex } from "../../core/types.ts";

/** An agent's skill and what it comes from, in words. */
export function skillText(counters: SkillCounters): string {
  const { agreed, contested } = counters;
  const learned = contested === 0 ? "nothing learned yet" : `agreed in ${agreed} of ${contested} contested decisions`;
  return `${skillOf(counters)} of 3, ${learned}`;
}

/** What a decision teaches about a seat if it stands; null if nothing (SK1). */
export function lessonOf(
  { answered, agreed }: Pick<Outcome, "answered" | "agreed">,
  seat: SeatIndex,
): "agreed" | "outvoted" | null {
  if (!answered.includes(seat)) return null;
  return agreed.includes(seat) ? "agreed" : "outvoted";
}
