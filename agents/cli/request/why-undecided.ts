import { readDeliberation } from "../../node/audit/deliberation.ts";
import { messageOf } from "../../core/errors.ts";
import type { RequestId } from "../../core/types.ts";
import type { ChainReader, TransactionReader } from "../../ports/chain.ts";
import type { CliHost } from "../shared/command.ts";
import { committeeFirst } from "../shared/committee-first.ts";
import { openContentSource } from "../shared/content-source.ts";
import { printable } from "../shared/output.ts";

/** Longest wait for the transcript. */
const PATIENCE_MS = 30_000;

/** PH14: why the request has no answer, in words, from the transcript that its agents serve; or why that cannot be read. */
export async function whyUndecided(
  chain: ChainReader & TransactionReader,
  requestId: RequestId,
  host: CliHost,
): Promise<readonly string[]> {
  const signal = AbortSignal.any([host.signal, AbortSignal.timeout(PATIENCE_MS)]);
  try {
    const store = await openContentSource({}, () => committeeFirst(chain, requestId, signal), host);
    try {
      const { deliberation } = await readDeliberation({ chain, store, requestId, signal });
      return (deliberation?.reasons() ?? []).map(printable);
    } finally {
      await store.close();
    }
  } catch (error) {
    host.signal.throwIfAborted();
    return [
      `the transcript cannot be read (${printable(messageOf(error))}); try conclave transcript ${requestId} later`,
    ];
  }
}
