import type { Skill } from "./types.ts";

/** What contested decisions taught about an agent (docs/spec/skill.md). SkillLib.sol counts the same. */
export interface SkillCounters {
  /** Contested decisions that count; below 128 (SK4). */
  readonly contested: number;
  /** In how many of them the agent's blind answer agreed. */
  readonly agreed: number;
}

export function isSkill(value: number): value is Skill {
  return value === 1 || value === 2 || value === 3;
}

/** SK6: 1, 2 or 3, from (agreed + 3) / (contested + 5) below 0.6, below 0.8, or above. */
export function skillOf({ agreed, contested }: SkillCounters): Skill {
  const part = 5 * (agreed + 3);
  const whole = contested + 5;
  if (part >= 4 * whole) return 3;
  return part >= 3 * whole ? 2 : 1;
}
