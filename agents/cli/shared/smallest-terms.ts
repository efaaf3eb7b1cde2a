import { limits } from "../../core/limits.ts";
import type { Terms } from "../../core/types.ts";

/** A boolean question to the smallest committee: no question costs less. */
export const SMALLEST: Terms = {
  fee: 0n,
  duration: limits.minDurationSeconds,
  appeals: 0,
  retries: 0,
  tolerance: 0n,
  callbackGasLimit: 0,
  committeeSize: limits.minCommittee,
  assurance: "normal",
  currency: "token",
  decimals: 0,
  options: 0,
  kind: "boolean",
  protocol: 0,
};
