import { connect } from "../../adapters/chain/connection.ts";
import { readRecentFaults } from "../../adapters/chain/faults.ts";
import type { ReaderOptions } from "../../adapters/chain/reader.ts";
import { readTerms } from "../../adapters/chain/terms.ts";
import { limits } from "../../core/limits.ts";
import type { RequestId } from "../../core/types.ts";
import type { ChainReader } from "../../ports/chain.ts";
import type { PastFault } from "../../ports/history.ts";
import { formatAmount } from "../shared/arguments.ts";

/** What it cost to sign two messages, as far as the chain tells by now. */
export interface Slashed {
  readonly faults: readonly PastFault[];
  /** The same in words, a line each. */
  readonly lines: readonly string[];
}

const NOBODY = "Nobody has brought it to the slasher yet: anybody can, and the stake is slashed (conclave evidence).";

/** Reads what seats of the request lost for two messages, from the block of the question on. Throws CHAIN_UNREACHABLE. */
export async function readSlashed(
  chain: Pick<ChainReader, "requestEvents">,
  options: ReaderOptions,
  requestId: RequestId,
  signal: AbortSignal,
): Promise<Slashed> {
  const [[asked], connection] = await Promise.all([chain.requestEvents(requestId, signal), connect(options, signal)]);
  const { stakeToken } = await readTerms(connection, signal);
  const head = await connection.call("Read the newest block", signal, (client) => client.getBlockNumber());
  const blocks = Number(head - (asked?.blockNumber ?? head)) + 1;
  const filter = { agentId: null, requestId };
  const found = await readRecentFaults(connection, filter, limits.requestSeats, { blocks, signal });
  const faults = found.faults.filter(({ fault }) => fault === "messages");
  const lines = faults.map(
    ({ agentId, cost, reporter, transaction }) =>
      `Agent ${agentId} lost ${formatAmount(cost, stakeToken)} of stake for it; ${reporter} brought the proof (transaction ${transaction}).`,
  );
  return { faults, lines: lines.length === 0 ? [NOBODY] : lines };
}
