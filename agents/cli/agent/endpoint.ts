import { limits } from "../../core/limits.ts";
import type { AgentRecord, OperatorActions } from "../../ports/chain.ts";
import type { AgentConfig } from "../shared/config.ts";

/**
 * Returns the addresses for the registry: those that the operator announces, else those that the agent listens on,
 * without loopback ones if there are others.
 */
export function announcedEndpoint(config: AgentConfig, multiaddrs: readonly string[]): readonly string[] {
  if (config.announce.length > 0) return config.announce;
  const elsewhere = multiaddrs.filter((address) => !isLoopbackAddress(address));
  const endpoint: string[] = [];
  for (const address of elsewhere.length > 0 ? elsewhere : multiaddrs) {
    if (Buffer.byteLength([...endpoint, address].join(",")) <= limits.endpointBytes) endpoint.push(address);
  }
  return endpoint;
}

/** Writes the endpoint to the chain if it changed; returns true if it did. */
export async function publishEndpoint(
  actions: Pick<OperatorActions, "setEndpoint">,
  record: AgentRecord,
  endpoint: readonly string[],
): Promise<boolean> {
  if (record.endpoint.join(",") === endpoint.join(",")) return false;
  await actions.setEndpoint(record.agentId, endpoint);
  return true;
}

function isLoopbackAddress(address: string): boolean {
  return /^\/ip4\/127\.|^\/ip6\/::1\/|^\/dns[46]?\/localhost\//.test(address);
}
