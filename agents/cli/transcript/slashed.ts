import { connect } from "../../adapters/chain/connection.ts";
import { readRecentFaults } from "../../adapters/chain/faults.ts";
import type { ReaderOptions } from "../../adapters/chain/reader.ts";
import { readTerms } from "../../adapters/chain/terms.ts";
import { messageOf } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { AgentId, RequestId } from "../../core/types.ts";
import type { ChainReader } from "../../ports/chain.ts";
import type { PastFault } from "../../ports/history.ts";
import { formatAmount } from "../shared/arguments.ts";

/** What it cost to sign two messages, as far as the chain tells by now. */
export interface Slashed {
  readonly faults: readonly PastFault[];
  /** The same in words, a line each. */
  readonly lines: readonly string[];
}

/** What is told where the node does not answer: the transcript needs no more of it. */
export function unreadable(error: unknown): Slashed {
  return { faults: [], lines: [`What it has cost cannot be read now: ${messageOf(error)}`] };
}

/** Reads what these agents lost for two messages of an attempt, from the block of the question on. Throws CHAIN_UNREACHABLE. */
export async function readSlashed(
  chain: Pick<ChainReader, "requestEvents">,
  options: ReaderOptions,
  {
    requestId,
    attempt,
    agents,
  }: { readonly requestId: RequestId; readonly attempt: number; readonly agents: readonly AgentId[] },
  signal: AbortSignal,
): Promise<Slashed> {
  const [[asked], connection] = await Promise.all([chain.requestEvents(requestId, signal), connect(options, signal)]);
  const { stakeToken } = await readTerms(connection, signal);
  const head = await connection.call("Read the newest block", signal, (client) => client.getBlockNumber());
  const blocks = Number(head - (asked?.blockNumber ?? head)) + 1;
  const filter = { agentId: null, requestId };
  const found = await readRecentFaults(connection, filter, limits.requestSeats, { blocks, signal });
  const faults = found.faults.filter((one) => one.fault === "messages" && one.attempt === attempt);
  const lines = [...new Set(agents)].flatMap((agentId) => {
    const own = faults.filter((fault) => fault.agentId === agentId);
    if (own.length === 0)
      return `Nobody has brought the proof against agent ${agentId} to the slasher yet: anybody can (conclave evidence).`;
    return own.map(
      ({ cost, reporter, transaction }) =>
        `Agent ${agentId} lost ${formatAmount(cost, stakeToken)} of stake for it; ${reporter} brought the proof (transaction ${transaction}).`,
    );
  });
  return { faults, lines };
}
