import { limits } from "../../core/limits.ts";
import type { AgentRecord, OperatorActions } from "../../ports/chain.ts";
import type { AgentConfig } from "../shared/config.ts";

/** What the registry should say: what the operator announces, else what the agent listens on, the useful addresses first. */
export function announcedEndpoint(config: AgentConfig, multiaddrs: readonly string[]): readonly string[] {
  if (config.announce.length > 0) return config.announce;
  const elsewhere = multiaddrs.filter((address) => !isLoopbackAddress(address));
  const endpoint: string[] = [];
  for (const address of elsewhere.length > 0 ? elsewhere : multiaddrs) {
    if (Buffer.byteLength([...endpoint, address].join(",")) <= limits.endpointBytes) endpoint.push(address);
  }
  return endpoint;
}

/** Writes it to the chain where it changed; true when it did. */
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
