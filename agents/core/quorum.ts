/**
 * Every threshold of the system, in integers. Weights are seats (one each) or reputations in parts per million;
 * products are bigint, so that nothing overflows and nothing rounds.
 */

type Integer = number | bigint;

/** f: how many of n seats may be Byzantine, the largest f with n >= 3f + 1. */
export function faultTolerance(seats: number): number {
  if (!Number.isSafeInteger(seats) || seats < 1)
    throw new RangeError(`faultTolerance: ${seats} is not a number of seats`);
  return Math.floor((seats - 1) / 3);
}

/** part / total > numerator / denominator, strictly. */
export function exceeds(part: Integer, total: Integer, numerator: Integer, denominator: Integer): boolean {
  return BigInt(part) * BigInt(denominator) > BigInt(total) * BigInt(numerator);
}

/** More than 2/3: two such sets share an honest seat. */
export function isSupermajority(weight: Integer, total: Integer): boolean {
  return exceeds(weight, total, 2, 3);
}

/** More than 1/2. */
export function isMajority(weight: Integer, total: Integer): boolean {
  return exceeds(weight, total, 1, 2);
}

/** More than 1/3, hence at least f + 1: one of them is honest. */
export function holdsHonest(weight: Integer, total: Integer): boolean {
  return exceeds(weight, total, 1, 3);
}
