/** As in contracts/types/Limits.sol. */
export const OVERTURN_SLASH_PPM = 50_000n;
/** A seat loses at most so many units of the pay of the committees that appeals call. */
export const OVERTURN_UNITS = 200n;

/** SC3: what a seat loses, up to rounding. */
export function sliceOf(stake: bigint, appealUnit: bigint): bigint {
  const [part, most] = [(stake * OVERTURN_SLASH_PPM) / 1_000_000n, OVERTURN_UNITS * appealUnit];
  return part < most ? part : most;
}
