import type { AgentId, Request } from "../../core/types.ts";
import type { ChainEvent, ChainReader, ChainWriter, DecidedRound, Receipt } from "../../ports/chain.ts";
import { advance, isFinal, roundsOf, type Course } from "../../ports/course.ts";

export interface Claim {
  readonly request: Request;
  readonly rounds: readonly DecidedRound[];
}

/** Final requests that no keeper has settled yet and for which the agent sat. Throws CHAIN_UNREACHABLE. */
export async function findClaims(chain: ChainReader, agentId: AgentId, signal: AbortSignal): Promise<readonly Claim[]> {
  const courses = new Map<bigint, Course>();
  for (const event of await eventsToHead(chain, signal)) {
    if (event.kind === "agentsChanged") continue;
    const requestId = event.kind === "requested" ? event.request.id : event.requestId;
    const course = advance(courses.get(requestId) ?? null, event);
    if (course !== null) courses.set(requestId, course);
  }
  const claims: Claim[] = [];
  for (const course of courses.values()) {
    const { request } = course;
    const rounds = isFinal(course) ? roundsOf(course) : null;
    const sat = rounds?.some(({ committee }) => committee.some((seat) => seat.agentId === agentId)) === true;
    if (rounds === null || !sat) continue;
    const { settled } = await chain.requestState(request.id, signal);
    if (!settled) claims.push({ request, rounds });
  }
  return claims;
}

/** Settles each; what somebody else has settled meanwhile is done as well. */
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
