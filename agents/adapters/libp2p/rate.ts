/** A token bucket that holds the tokens of one second. */
export interface TokenBucket {
  /** Takes tokens, more than there are if necessary, and returns the milliseconds until the bucket is out of debt. */
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
