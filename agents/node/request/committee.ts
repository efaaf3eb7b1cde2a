import { isTimeUp, awaitedOf, withCommittee, type Head, type Progress } from "../../core/request/progress.ts";
import { isAwaited } from "../../core/request/state.ts";
import type { ChainReader } from "../../ports/chain.ts";

/**
 * SE3: returns the progress with the committee of the running attempt. Nobody draws it: whoever wants to know it asks the
 * chain. Unchanged while the head is not past the seed block, and when the attempt is over.
 */
export async function seatedProgress(
  chain: Pick<ChainReader, "committee" | "requestState">,
  progress: Progress,
  head: Head,
  signal: AbortSignal,
): Promise<Progress> {
  const awaited = awaitedOf(progress);
  if (awaited === null || head.number <= awaited.seedBlock || isTimeUp(awaited, head)) return progress;
  const { request, attempt } = progress;
  if (!isAwaited(await chain.requestState(request.id, signal), attempt)) return progress;
  return withCommittee(progress, await chain.committee(request, awaited, signal));
}
