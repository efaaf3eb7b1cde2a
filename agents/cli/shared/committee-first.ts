import type { RequestId } from "../../core/types.ts";
import type { ChainEvent } from "../../core/request/events.ts";
import type { AgentRecord, ChainReader } from "../../ports/chain.ts";

/**
 * Returns all agents. Those that sat come first, since they hold the transcript; others may. Throws REQUEST_UNKNOWN.
 */
export async function committeeFirst(
  chain: ChainReader,
  requestId: RequestId,
  signal: AbortSignal,
): Promise<readonly AgentRecord[]> {
  const [events, agents] = await Promise.all([chain.requestEvents(requestId, signal), chain.agents(signal)]);
  const seats = events.flatMap((event: ChainEvent) => (event.kind === "decisionCommitted" ? event.committee : []));
  const sat = new Set(seats.map(({ agentId }) => agentId));
  return [...agents.filter(({ agentId }) => sat.has(agentId)), ...agents.filter(({ agentId }) => !sat.has(agentId))];
}
