/**
 * The paper's baselines (section V-B1; LL18): the result of leader-based voting if every worker's answer has a score.
 * The leader's answer is the one for which just enough lower ones vote: the ceil((N+1)/3)-th best for a quorum of
 * 2/3, the ceil((N+1)/2)-th for a majority.
 */

/** Worker indices, the best first; equal scores keep their order. */
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
