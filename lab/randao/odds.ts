/**
 * What a proposer of Ethereum's blocks gains over a draw whose seed is the prevrandao of a block
 * (docs/adr/007-seed-from-prevrandao.md). prevrandao of block N is the RANDAO mix after block N - 1. A proposer's
 * part of the mix is a signature over the epoch: it knows its own part beforehand, cannot change it, and can only
 * leave its block out. Then the block's number, and with it its part in the seed, goes to the next proposer. Every
 * slot belongs to the attacker with probability `p`, independently; a run of its slots ends with a slot of an honest
 * proposer, whose part it does not know. `q` is the probability that a draw suits the attacker.
 */

/** Longer runs are too rare to count, for a share of up to 1/2. */
const LONGEST_RUN = 60;

/** Returns the probability that one of `draws` draws suits. */
export function anyOf(q: number, draws: number): number {
  // This form keeps the digits of a small q.
  return -Math.expm1(draws * Math.log1p(-q));
}

/**
 * Returns the probability that the draw suits under the attacker's best strategy, if `blocks` blocks are still to
 * come before the seed block when a run begins. In a run of k slots the attacker knows what publishing any `blocks`
 * of them yields. If nothing suits, it publishes as many as leave the best odds, and an honest block follows.
 */
export function withWithholding(q: number, p: number, blocks: number): number {
  /** Odds after an honest block, by the number of blocks still to come. */
  const best: number[] = [q];
  for (let missing = 1; missing <= blocks; missing++) {
    let sum = 0;
    for (let run = 0; run <= LONGEST_RUN; run++) {
      const known = anyOf(q, choose(run, missing));
      // It publishes 0 to `run` blocks, fewer than are missing; the honest block is one more.
      const rest = Math.max(...best.slice(Math.max(0, missing - 1 - run), missing));
      sum += (1 - p) * p ** run * (known + (1 - known) * rest);
    }
    best.push(sum);
  }
  return best[blocks] ?? q;
}

/**
 * Returns the mean number of blocks left out for each draw that suits only because of them, with one block to come: 1
 * / q, for any share.
 */
export function blocksPerGain(q: number): number {
  return 1 / q;
}

/** Returns the mean time until an attacker proposes `slots` slots in a row, in seconds, with slots of 12 seconds. */
export function secondsToRun(p: number, slots: number): number {
  // Mean waiting time for a run of successes.
  return (12 * (1 - p ** slots)) / ((1 - p) * p ** slots);
}

/** Returns the number of ways to choose k of n. */
export function choose(n: number, k: number): number {
  if (k > n) return 0;
  let result = 1;
  for (let i = 1; i <= k; i++) result = (result * (n - k + i)) / i;
  return result;
}
