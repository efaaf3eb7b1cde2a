/** EIP-1559 fees in wei per gas. */
export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** Raise of both fees for a replacement; nodes require at least 10 %. */
const RAISE_PERCENT = 25n;

/**
 * Returns the market's fees, with a tip of at most the maximum. If there was an offer for the same nonce, both fees are raised above it,
 * since nodes take no other replacement. The whole is at most the maximum.
 */
export function nextFees(previous: Fees | null, market: Fees, most: Fees): Fees {
  const tip = smaller(market.maxPriorityFeePerGas, most.maxPriorityFeePerGas);
  const floor = previous === null ? { ...market, maxPriorityFeePerGas: tip } : raised(previous);
  const maxFeePerGas = smaller(larger(market.maxFeePerGas, floor.maxFeePerGas), most.maxFeePerGas);
  return { maxFeePerGas, maxPriorityFeePerGas: smaller(larger(tip, floor.maxPriorityFeePerGas), maxFeePerGas) };
}

export function raised({ maxFeePerGas, maxPriorityFeePerGas }: Fees): Fees {
  return { maxFeePerGas: raise(maxFeePerGas), maxPriorityFeePerGas: raise(maxPriorityFeePerGas) };
}

export function isAtLeast(fees: Fees, other: Fees): boolean {
  return fees.maxFeePerGas >= other.maxFeePerGas && fees.maxPriorityFeePerGas >= other.maxPriorityFeePerGas;
}

/** Raises a fee, rounded up so that even 1 wei grows. */
function raise(value: bigint): bigint {
  return value + (value * RAISE_PERCENT) / 100n + 1n;
}

function larger(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}

function smaller(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}
