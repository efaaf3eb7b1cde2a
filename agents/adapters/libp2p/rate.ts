/** A token bucket that holds one second's worth. */
export interface TokenBucket {
  /** Takes tokens, overdrawing if need be, and returns the milliseconds until the bucket is out of debt, 0 when it is not in debt. */
  take(tokens: number): number;
  /** Takes one token if there is one. */
  tryTake(): boolean;
}

export function createTokenBucket(tokensPerSecond: number): TokenBucket {
  let level = tokensPerSecond;
  let filledAt = performance.now();

  function fill(): void {
    const now = performance.now();
    level = Math.min(tokensPerSecond, level + ((now - filledAt) * tokensPerSecond) / 1_000);
    filledAt = now;
  }

  return {
    take(tokens) {
      fill();
      level -= tokens;
      return level >= 0 ? 0 : Math.ceil((-level * 1_000) / tokensPerSecond);
    },
    tryTake() {
      fill();
      if (level < 1) return false;
      level--;
      return true;
    },
  };
}
