import { limits } from "../limits.ts";
import type { Terms } from "../types.ts";

/**
 * The terms of a request with a value for each that the caller does not name: a boolean question to the smallest committee, for no
 * fee, without appeals, retries and callback. A new term gets its default here.
 */
export function defaultTerms(change: Partial<Terms> & Pick<Terms, "protocol">): Terms {
  return {
    fee: 0n,
    delay: 0,
    finality: 0,
    duration: 3_600,
    appeals: 0,
    retries: 0,
    tolerance: 0n,
    callbackGasLimit: 0,
    committeeSize: limits.minCommittee,
    assurance: "normal",
    nonAnswers: "accepted",
    security: "none",
    currency: "token",
    decimals: 0,
    options: 0,
    kind: "boolean",
    ...change,
  };
}
