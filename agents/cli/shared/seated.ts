import { ConclaveError } from "../../core/errors.ts";
import type { Head, Progress } from "../../core/request/progress.ts";
import { seatedProgress } from "../../node/request/committee.ts";
import type { ChainReader } from "../../ports/chain.ts";

/** Returns the progress with the committee at work, as agents find it out; without it if the chain cannot name one. */
export async function seatedIfPossible(
  chain: ChainReader,
  progress: Progress,
  head: Head,
  signal: AbortSignal,
): Promise<Progress> {
  try {
    return await seatedProgress(chain, progress, head, signal);
  } catch (error) {
    if (error instanceof ConclaveError && error.code === "CHAIN_REVERTED") return progress;
    throw error;
  }
}
