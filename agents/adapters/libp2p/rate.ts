/** A token bucket that holds the tokens of one second. */
export interface TokenBucket {
  /** Takes tokens, more than there are if necessary, and returns the milliseconds until the bucket is out of debt. */
  take(tokens: number): number;
  /** Takes one token if there is one. */
  tryTake(): boolean;
}

export function createTokenBucket(tokensPerSecond: number): TokenBucket {
  let filled = tokensPerSecond;
  let filledAt = performance.now();

  function fill(): void {
    const now = performance.now();
    filled = Math.min(tokensPerSecond, filled + ((now - filledAt) * tokensPerSecond) / 1_000);
    filledAt = now;
  }

  return {
    take(tokens) {
      fill();
      filled -= tokens;
      return filled >= 0 ? 0 : Math.ceil((-filled * 1_000) / tokensPerSecond);
    },
    tryTake() {
      fill();
      if (filled < 1) return false;
      filled--;
      return true;
    },
  };
}
