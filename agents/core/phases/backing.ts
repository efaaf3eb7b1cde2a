import { calibratedConfidence } from "../calibration.ts";
import { ONE_PPM, type Ppm } from "../types.ts";
import { BACKING_STEPS } from "./backing-steps.ts";
import { SAFE_RIGHT, SURE_RIGHT } from "./pay.ts";

/**
 * CF8: how far the blind answers of all seats stand behind a decision, by what they earn: 2 points for a seat that agreed and was sure, 1
 * for one that agreed and was not, of 2 for each seat.
 */
export function backingOf(shares: readonly number[]): Ppm {
  const points = shares.reduce((sum, share) => sum + (share === SURE_RIGHT ? 2 : 2 * share >= SAFE_RIGHT ? 1 : 0), 0);
  return Math.floor((points * ONE_PPM) / (2 * shares.length)) as Ppm;
}

/** CF9: how often decisions with such a backing are right. */
export function decisionConfidence(shares: readonly number[]): Ppm {
  return calibratedConfidence(BACKING_STEPS, backingOf(shares));
}
