/**
 * The paper's baselines (section V-B1; LL18): what leader-based voting comes to when every worker's answer has a score. The leader's answer
 * is the one that just enough lower ones vote for: the ceil((N+1)/3)-th best for a quorum of 2/3, the ceil((N+1)/2)-th for a majority.
 */

/** Worker indices, best first; equal scores in the order given. */
export function ranking(scores: readonly number[]): readonly number[] {
  return scores.map((_, worker) => worker).toSorted((a, b) => (scores[b] as number) - (scores[a] as number) || a - b);
}

/** The worker whose answer a vote of 2/3 accepts. */
export function twoThirdsBaseline(scores: readonly number[]): number {
  return ranked(scores, 3);
}

/** The worker whose answer a vote of the majority accepts. */
export function majorityBaseline(scores: readonly number[]): number {
  return ranked(scores, 2);
}

function ranked(scores: readonly number[], parts: number): number {
  if (scores.length === 0) throw new RangeError("ranked: there are no scores");
  return ranking(scores)[Math.ceil((scores.length + 1) / parts) - 1] as number;
}
