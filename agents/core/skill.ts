/** How often an agent's blind answers agreed in contested decisions. Both counters decay. SkillLib.sol counts the same. */
export interface SkillCounters {
  /** In units of 1 / SKILL_UNIT of a decision; at most `contested`. */
  readonly agreed: number;
  /** In units of 1 / SKILL_UNIT of a decision; at most 2^15. */
  readonly contested: number;
}

/** What one decision adds to a counter. */
export const SKILL_UNIT = 256;

const DECAY_SHIFT = 7;

/** What a seat counts: 1, 2 or 3, from (agreed + 3) / (contested + 5) below 0.6, below 0.8, or above. */
export function skillOf({ agreed, contested }: SkillCounters): 1 | 2 | 3 {
  const part = 5 * (agreed + 3 * SKILL_UNIT);
  const whole = contested + 5 * SKILL_UNIT;
  if (part >= 4 * whole) return 3;
  return part >= 3 * whole ? 2 : 1;
}

/** The counters after one more contested decision. The decay rounds down, so less than half a decision never decays. */
export function learned({ agreed, contested }: SkillCounters, agrees: boolean): SkillCounters {
  return { agreed: decayed(agreed) + (agrees ? SKILL_UNIT : 0), contested: decayed(contested) + SKILL_UNIT };
}

function decayed(counter: number): number {
  return counter - (counter >> DECAY_SHIFT);
}
