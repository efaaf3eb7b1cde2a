/** EIP-1559 fees in wei per gas. */
export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** Nodes want a replacement to pay at least 10 % more of both. */
const RAISE_PERCENT = 25n;

/** The market's fees, at least a raise above what was offered before for the same nonce, at most the maximum. */
export function nextFees(previous: Fees | null, market: Fees, maximum: bigint): Fees {
  const floor = previous === null ? market : raised(previous);
  const maxFeePerGas = smaller(larger(market.maxFeePerGas, floor.maxFeePerGas), maximum);
  return {
    maxFeePerGas,
    maxPriorityFeePerGas: smaller(larger(market.maxPriorityFeePerGas, floor.maxPriorityFeePerGas), maxFeePerGas),
  };
}

export function raised({ maxFeePerGas, maxPriorityFeePerGas }: Fees): Fees {
  return { maxFeePerGas: raise(maxFeePerGas), maxPriorityFeePerGas: raise(maxPriorityFeePerGas) };
}

export function isAtLeast(fees: Fees, other: Fees): boolean {
  return fees.maxFeePerGas >= other.maxFeePerGas && fees.maxPriorityFeePerGas >= other.maxPriorityFeePerGas;
}

/** Rounded up, so that even 1 wei grows. */
function raise(value: bigint): bigint {
  return value + (value * RAISE_PERCENT) / 100n + 1n;
}

function larger(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}

function smaller(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}
