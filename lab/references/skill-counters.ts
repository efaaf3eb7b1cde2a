import type { SkillCounters } from "../../agents/core/skill.ts";

/** SK4: where the contested decisions reach this number, both counters are halved. */
const SKILL_MEMORY = 128;

/** SK4: the counters after one more contested decision. */
export function learned({ agreed, contested }: SkillCounters, agrees: boolean): SkillCounters {
  const next = { agreed: agreed + (agrees ? 1 : 0), contested: contested + 1 };
  if (next.contested < SKILL_MEMORY) return next;
  return { agreed: Math.floor(next.agreed / 2), contested: next.contested / 2 };
}
