import type { AgentId, Request } from "../../core/types.ts";
import type { ChainEvent, DecidedRound } from "../../core/request/events.ts";
import type { ChainReader, ChainWriter, Receipt } from "../../ports/chain.ts";
import { applyEvent, isFinal, isPaid, roundsOf, type Progress } from "../../core/request/progress.ts";

export interface Claim {
  readonly request: Request;
  readonly rounds: readonly DecidedRound[];
}

/** Finds the final requests for which the agent sat and that nobody has settled. Throws CHAIN_UNREACHABLE. */
export async function findClaims(chain: ChainReader, agentId: AgentId, signal: AbortSignal): Promise<readonly Claim[]> {
  const progresses = new Map<bigint, Progress>();
  for (const event of await eventsToHead(chain, signal)) {
    if (event.kind === "agentsChanged") continue;
    const requestId = event.kind === "requested" ? event.request.id : event.requestId;
    const progress = applyEvent(progresses.get(requestId) ?? null, event);
    if (progress !== null) progresses.set(requestId, progress);
  }
  const claims: Claim[] = [];
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

/** Settles each request; one that somebody else settled meanwhile counts as done. */
export async function settleClaims(
  writer: ChainWriter,
  claims: readonly Claim[],
  signal: AbortSignal,
): Promise<readonly Receipt[]> {
  const receipts: Receipt[] = [];
  for (const { request, rounds } of claims) {
    const receipt = await writer.settle(request, rounds, signal);
    if (receipt !== "already") receipts.push(receipt);
  }
  return receipts;
}

/** Reads the events up to the block that is the newest now, since the reader's stream has no end. */
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
