/** As in contracts/types/Limits.sol. */
export const OVERTURN_SLASH_PPM = 50_000n;
/** A seat loses at most so many units of the pay of the committees that appeals call. */
export const OVERTURN_UNITS = 200n;

/** SC3: what a seat loses, up to rounding; the most at any price if the price of a unit is left out. */
export function sliceOf(stake: bigint, appealUnit?: bigint): bigint {
  const part = (stake * OVERTURN_SLASH_PPM) / 1_000_000n;
  const most = appealUnit === undefined ? part : OVERTURN_UNITS * appealUnit;
  return part < most ? part : most;
}

/** SC3: an own stake that no slice takes below the least. A twentieth more is too little: a twentieth of that is lost, too. */
export function safeStake(minStake: bigint): bigint {
  return minStake + minStake / 16n;
}
