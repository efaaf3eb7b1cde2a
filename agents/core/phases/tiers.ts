import type { Ppm } from "../types.ts";

/** The ladder of stated confidence, parts per million (CF1; MBFT paper III-A). */
const LOW = 300_000 as Ppm;
const MEDIUM = 700_000 as Ppm;
const HIGH = 900_000 as Ppm;
export const TIER_MAX = HIGH;
export const TIERS: readonly Ppm[] = [LOW, MEDIUM, HIGH];

/**
 * CF1 (docs/spec/confidence.md): the tier of a confidence, by exact integer bounds: below 1/2 low, below 4/5 medium, else high. A model
 * without token probabilities states medium.
 */
export function tierOf(confidence: Ppm | null): Ppm {
  if (confidence === null) return MEDIUM;
  if (confidence < 500_000) return LOW;
  return confidence < 800_000 ? MEDIUM : HIGH;
}

export function isTier(value: unknown): value is Ppm {
  return TIERS.some((tier) => tier === value);
}
