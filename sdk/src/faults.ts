import type { Connection } from "../../agents/adapters/chain/connection.ts";
import { readRecentFaults } from "../../agents/adapters/chain/faults.ts";
import type { RequestId } from "../../agents/core/types.ts";
import type { FaultFilter, PastFault } from "../../agents/ports/history.ts";
import type { ConclaveError } from "./errors.ts";
import {
  askSubgraph,
  DEFAULT_BLOCKS,
  DEFAULT_LIMIT,
  signalOf,
  unlessAway,
  type HistoryOptions,
  type Told,
} from "./history.ts";

export interface FaultsOptions extends Pick<HistoryOptions, "limit" | "agentId" | "blocks" | "signal"> {
  readonly requestId?: bigint;
}

export interface FoundFaults extends Told {
  /** The newest first. */
  readonly faults: readonly PastFault[];
}

/** Returns the newest faults of agents, the newest first: from the subgraph, or from the chain's events where none answers. */
export async function readFaults(
  connection: Connection,
  subgraphUrl: string | undefined,
  options: FaultsOptions,
): Promise<FoundFaults> {
  const { limit = DEFAULT_LIMIT, blocks = DEFAULT_BLOCKS } = options;
  const signal = signalOf(options);
  const filter: FaultFilter = {
    agentId: (options.agentId ?? null) as FaultFilter["agentId"],
    requestId: (options.requestId ?? null) as RequestId | null,
  };
  const onChain = async (subgraphError: ConclaveError | null): Promise<FoundFaults> => {
    const found = await readRecentFaults(connection, filter, limit, { blocks, signal });
    return { ...found, source: "chain", subgraphError };
  };
  if (subgraphUrl === undefined) return onChain(null);
  const indexed = askSubgraph(connection, subgraphUrl, (subgraph) => subgraph.faults(filter, limit, signal));
  return indexed
    .then(({ answer, upTo }): FoundFaults => {
      return { faults: answer, source: "subgraph", toBlock: upTo.block, subgraphError: null };
    })
    .catch(unlessAway(onChain));
}
