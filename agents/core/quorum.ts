/**
 * The thresholds that protocols and certify share, in integers; mbft-bayesian has others besides, in its rules. Weights
 * are seats (one each) or reputations in parts per million. Products are bigint, so nothing overflows and nothing
 * rounds.
 */

type Integer = number | bigint;

/** f: the number of seats among n that may be Byzantine, the largest f with n >= 3f + 1. */
export function faultTolerance(seats: number): number {
  if (!Number.isSafeInteger(seats) || seats < 1)
    throw new RangeError(`faultTolerance: ${seats} is not a number of seats`);
  return Math.floor((seats - 1) / 3);
}

/** The least weight that is more than 2/3 of the total: of n seats the quorum. */
export function quorumOf(total: number): number {
  return Math.floor((2 * total) / 3) + 1;
}

/** True if part / total > numerator / denominator. */
export function exceeds(part: Integer, total: Integer, numerator: Integer, denominator: Integer): boolean {
  return BigInt(part) * BigInt(denominator) > BigInt(total) * BigInt(numerator);
}

/** True for more than 2/3: two such sets share an honest seat. */
export function isSupermajority(weight: Integer, total: Integer): boolean {
  return exceeds(weight, total, 2, 3);
}

/** True for more than 1/2. */
export function isMajority(weight: Integer, total: Integer): boolean {
  return exceeds(weight, total, 1, 2);
}

/** True for more than 1/3, hence at least f + 1 seats: one of them is honest. */
export function holdsHonest(weight: Integer, total: Integer): boolean {
  return exceeds(weight, total, 1, 3);
}
