import type { AgentId, Decision, Request, SeatInfo } from "../core/types.ts";
import type { ChainEvent, ChainReader, ChainWriter, Receipt, Relay } from "../ports/chain.ts";

export interface Claim {
  readonly request: Request;
  readonly committee: readonly SeatInfo[];
  readonly decision: Decision;
  readonly relay: Relay;
}

/** Decisions whose pay nobody has credited yet and in which the agent sat. Throws CHAIN_UNREACHABLE. */
export async function findClaims(chain: ChainReader, agentId: AgentId, signal: AbortSignal): Promise<readonly Claim[]> {
  const claims: Claim[] = [];
  const requests = new Map<bigint, Request>();
  const committees = new Map<string, readonly SeatInfo[]>();
  for (const event of await eventsToHead(chain, signal)) {
    if (event.kind === "requested") requests.set(event.request.id, event.request);
    if (event.kind === "committeeDrawn") committees.set(`${event.requestId}.${event.attempt}`, event.committee);
    if (event.kind !== "decisionCommitted") continue;
    const request = requests.get(event.requestId);
    const committee = committees.get(`${event.requestId}.${event.decision.attempt}`) ?? [];
    if (request === undefined || !committee.some((seat) => seat.agentId === agentId)) continue;
    const { payCredited } = await chain.requestState(event.requestId, signal);
    if (!payCredited) claims.push({ request, committee, decision: event.decision, relay: event.relay });
  }
  return claims;
}

/** Credits the pay of each; what somebody else has credited meanwhile is done as well. */
export async function creditClaims(
  writer: ChainWriter,
  claims: readonly Claim[],
  signal: AbortSignal,
): Promise<readonly Receipt[]> {
  const receipts: Receipt[] = [];
  for (const { request, committee, decision, relay } of claims) {
    const receipt = await writer.creditPay(request, committee, decision, relay, signal);
    if (receipt !== "already") receipts.push(receipt);
  }
  return receipts;
}

/** The reader's stream has no end: this one ends at the block that was the newest when it began. */
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
