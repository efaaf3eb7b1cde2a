import { ConclaveError } from "../../core/errors.ts";
import type { AgentId } from "../../core/types.ts";
import type { ChainEvent } from "../../core/request/events.ts";
import type { ChainReader, ChainWriter, FinalRequest, Receipt } from "../../ports/chain.ts";
import { applyEvent, isFinal, isPaid, roundsOf, type Progress } from "../../core/request/progress.ts";

/** Finds the final requests for which the agent sat and that nobody has settled. Throws CHAIN_UNREACHABLE. */
export async function findClaims(
  chain: ChainReader,
  agentId: AgentId,
  signal: AbortSignal,
): Promise<readonly FinalRequest[]> {
  const progresses = new Map<bigint, Progress>();
  for (const event of await eventsToHead(chain, signal)) {
    if (event.kind === "agentsChanged") continue;
    const requestId = event.kind === "requested" ? event.request.id : event.requestId;
    const progress = applyEvent(progresses.get(requestId) ?? null, event);
    if (progress !== null) progresses.set(requestId, progress);
  }
  const claims: FinalRequest[] = [];
  for (const progress of progresses.values()) {
    const { request } = progress;
    const rounds = isFinal(progress) && !isPaid(progress) ? roundsOf(progress) : null;
    const sat = rounds?.some(({ committee }) => committee.some((seat) => seat.agentId === agentId)) === true;
    if (rounds === null || !sat) continue;
    const { settled } = await chain.requestState(request.id, signal);
    if (!settled) claims.push({ request, rounds });
  }
  return claims;
}

/** Settles all, many in one transaction; one that somebody else settled meanwhile counts as done. Throws what the chain refuses. */
export async function settleClaims(
  writer: ChainWriter,
  claims: readonly FinalRequest[],
  signal: AbortSignal,
): Promise<readonly Receipt[]> {
  const receipts = new Map<string, Receipt>();
  for (const result of await writer.settleAll(claims, signal)) {
    if (result instanceof ConclaveError) throw result;
    if (result !== "already") receipts.set(result.transactionHash, result);
  }
  return [...receipts.values()];
}

/** Reads the events up to the block that is the newest now, since following has no end. */
async function eventsToHead(chain: ChainReader, signal: AbortSignal): Promise<readonly ChainEvent[]> {
  const { number } = await chain.head(signal);
  const reached = new AbortController();
  const events: ChainEvent[] = [];
  const collect: Parameters<ChainReader["follow"]>[1] = async (batch) => {
    events.push(...batch.events);
    if (batch.cursor.blockNumber >= number) reached.abort();
  };
  const giveUp = (error: Error): never => {
    throw error;
  };
  await chain.follow(null, collect, AbortSignal.any([signal, reached.signal]), giveUp);
  signal.throwIfAborted();
  return events;
}
