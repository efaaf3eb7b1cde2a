import { faultTolerance } from "../../quorum.ts";
import { TIER_MAX } from "../../phases/tiers.ts";
import { ONE_PPM, type Attempt } from "../../types.ts";

/** sigma: each slash multiplies the reputation rho by it. Equal to SLASH_FACTOR_PPM of the registry (test/core/limits.test.ts). */
export const SLASH_FACTOR_PPM = 800_000;

export interface MbftConfig {
  /** The least sum with which a class may commit, in ppm^2 (reputation x tier). */
  readonly theta: bigint;
  /** f: number of seats that may be Byzantine. */
  readonly faulty: number;
  /** h: number of honest verifiers that may be fooled at once without a wrong commit. */
  readonly fooled: number;
}

/** MB1: theta = n * tauMax / 2. */
export function mbftConfig(attempt: Attempt): MbftConfig {
  const n = attempt.committee.length;
  const faulty = faultTolerance(n);
  const theta = (BigInt(n) * BigInt(TIER_MAX) * BigInt(ONE_PPM)) / 2n;
  return { theta, faulty, fooled: largestFooled(n, faulty) };
}

/** The largest h with theta > (f + h) * tauMax, i.e. f + h < n / 2; negative if even h = 0 fails. */
function largestFooled(n: number, faulty: number): number {
  return Math.ceil(n / 2) - 1 - faulty;
}
