import { ConclaveError } from "../../core/errors.ts";
import { roundsOf, type Progress } from "../../core/request/progress.ts";
import type { RequestId } from "../../core/types.ts";
import type { BatchResult, ChainWriter, FinalRequest } from "../../ports/chain.ts";
import type { Log } from "../../ports/log.ts";
import type { AgentTiming } from "../config.ts";

/** A final request that nobody has settled, as far as this agent knows. */
export interface Unsettled {
  readonly progress: Progress;
  /** Block of the last event. */
  readonly at: bigint;
  /** Since when its settlement is due (Unix milliseconds). */
  readonly since: number;
}

export interface SettlerPorts {
  readonly writer: Pick<ChainWriter, "settleAll">;
  readonly log: Log;
  /** Returns this agent's place, from 0, in the order of the agents that the key names. */
  readonly rankOf: (key: string) => number;
  /** Runs for each request that is settled, by whomever. */
  readonly onDone: (requestId: RequestId) => void;
  /** Runs for each request that could not be settled; an error that concerns all comes once for each. */
  readonly onFailed: (requestId: RequestId, error: unknown) => void;
}

/** Most requests that are settled in one go: an agent that reads the chain from its beginning finds all old requests settled, and asks for a few at a time. */
const SETTLED_AT_ONCE = 20;
/** Requests whose last events lie in the same so many blocks are settled by the agents in the same order, so that one of them can settle all together. */
const SETTLED_BLOCKS = 50n;

/** Returns what settles the requests whose turn has come, together with what became final at about the same time (SE9). */
export function createSettler(
  { writer, log, rankOf, onDone, onFailed }: SettlerPorts,
  { turnMs, settleBatchMs }: Pick<AgentTiming, "settleBatchMs"> & { readonly turnMs: number },
  lifetime: AbortSignal,
): (due: readonly Unsettled[], now: number) => Promise<void> {
  let settling = false;

  const done = ({ progress: { request } }: Unsettled, result: BatchResult): void => {
    if (result instanceof ConclaveError) return onFailed(request.id, result);
    onDone(request.id);
    if (result !== "already")
      log.info({ requestId: String(request.id), transaction: result.transactionHash }, "settled the request");
  };

  return async (due, now) => {
    const waited = due.filter(({ since }) => now - since >= settleBatchMs);
    if (settling || waited.length === 0) return;
    const ranks = new Map([...new Set(waited.map(groupOf))].map((group) => [group, rankOf(`settle ${group}`)]));
    const hasTurn = (one: Unsettled): boolean =>
      now - one.since - settleBatchMs >= (ranks.get(groupOf(one)) as number) * turnMs;
    const groups = new Set(waited.filter(hasTurn).map(groupOf));
    // One that has failed waits for its next turn.
    const isReady = (one: Unsettled): boolean => groups.has(groupOf(one)) && one.since <= now;
    const ready = due.filter(isReady);
    const [first] = ready;
    if (first === undefined) return;
    // Agents whose turns have come begin at different places of what waits: who settles the same requests pays for a copy.
    const start = ((ranks.get(groupOf(first)) as number) * SETTLED_AT_ONCE) % ready.length;
    const batch = [...ready.slice(start), ...ready.slice(0, start)].slice(0, SETTLED_AT_ONCE);
    settling = true;
    try {
      const results = await writer.settleAll(batch.map(finalRequestOf), lifetime);
      for (const [index, one] of batch.entries()) done(one, results[index] as BatchResult);
    } catch (error) {
      for (const { progress } of batch) onFailed(progress.request.id, error);
    } finally {
      settling = false;
    }
  };
}

/** Returns the number of the blocks in which the request became final. */
function groupOf({ at }: Unsettled): bigint {
  return at / SETTLED_BLOCKS;
}

function finalRequestOf({ progress }: Unsettled): FinalRequest {
  const { request, stage } = progress;
  const rounds = roundsOf(progress);
  if (rounds === null) throw new RangeError(`finalRequestOf: request ${request.id} is ${stage.kind}`);
  return { request, rounds };
}
