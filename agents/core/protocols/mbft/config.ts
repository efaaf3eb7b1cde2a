import { faultTolerance } from "../../quorum.ts";
import { ONE_PPM, type Attempt, type Ppm } from "../../types.ts";

/** The ladder of stated confidence, parts per million (paper III-A; M01). */
const LOW = 300_000 as Ppm;
const MEDIUM = 700_000 as Ppm;
const HIGH = 900_000 as Ppm;
export const TIER_MAX = HIGH;

/** rho *= sigma per slash; equal to SLASH_FACTOR_PPM of the registry (test/core/limits.test.ts). */
export const SLASH_FACTOR_PPM = 800_000;

/** A decision slashes a seat at most this often, as the contract demands (MAX_SLASHES). */
export const MAX_SLASHES = 3;

/** Phases of one round, in order. */
export const COMMIT = 1;
export const REVEAL = 2;
export const VOTE = 3;
export const JUDGE = 4;

/**
 * MB2: confidence -> tier, by exact integer bounds: below 1/2 low, below 4/5 medium, else high. A model without token
 * probabilities states medium: 2/3 of the seats at medium outweigh theta, so such a committee decides with f seats silent.
 */
export function tierOf(confidence: Ppm | null): Ppm {
  if (confidence === null) return MEDIUM;
  if (confidence < 500_000) return LOW;
  return confidence < 800_000 ? MEDIUM : HIGH;
}

export function isTier(value: unknown): value is Ppm {
  return value === LOW || value === MEDIUM || value === HIGH;
}

export interface MbftConfig {
  /** Least sum of a class that may commit, in ppm^2 (reputation x tier). */
  readonly theta: bigint;
  /** f: seats that may be Byzantine. */
  readonly faults: number;
  /** h: honest verifiers that may be fooled at once without a wrong commit. */
  readonly fooled: number;
  /** R. */
  readonly rounds: number;
}

/** MB1: theta = n * tauMax / 2. */
export function mbftConfig(attempt: Attempt, rounds: number): MbftConfig {
  const n = attempt.committee.length;
  const faults = faultTolerance(n);
  const theta = (BigInt(n) * BigInt(TIER_MAX) * BigInt(ONE_PPM)) / 2n;
  return { theta, faults, fooled: largestFooled(n, faults), rounds };
}

/** The largest h with theta > (f + h) * tauMax, i.e. f + h < n / 2; negative when even h = 0 fails. */
function largestFooled(n: number, faults: number): number {
  return Math.ceil(n / 2) - 1 - faults;
}
