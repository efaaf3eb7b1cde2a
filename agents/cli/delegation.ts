import { createOperatorActions } from "../adapters/chain/operator.ts";
import { createChainReader } from "../adapters/chain/reader.ts";
import { readChainTerms, type ChainTerms } from "../adapters/chain/terms.ts";
import { ConclaveError } from "../core/errors.ts";
import type { Address, AgentId } from "../core/types.ts";
import type { AgentRecord, ChainReader, OperatorActions } from "../ports/chain.ts";
import { openAccount, type AccountFlags } from "./account.ts";
import { parseInteger } from "./arguments.ts";
import { findChain } from "./chain-source.ts";
import type { CliHost } from "./command.ts";

/** An account of one's own that stakes for agents of others. */
export interface Delegator {
  readonly terms: ChainTerms;
  readonly chain: ChainReader;
  readonly account: Address;
  readonly actions: OperatorActions;
}

const MAX_AGENT_ID = 2 ** 32 - 1;

export async function openDelegator(flags: AccountFlags, host: CliHost): Promise<Delegator> {
  const source = await findChain(flags, host);
  const [terms, chain] = await Promise.all([
    readChainTerms(source, host.signal),
    createChainReader({ ...source, finalityDepth: 0 }, host.signal),
  ]);
  const keys = await openAccount(flags, host);
  const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
  return { terms, chain, account: keys.address, actions };
}

/** The agent that a command names. Throws USAGE or AGENT_NOT_REGISTERED. */
export async function findAgent(text: string | undefined, chain: ChainReader, host: CliHost): Promise<AgentRecord> {
  const agentId = parseInteger(text ?? "", "<agentId>", 1, MAX_AGENT_ID) as AgentId;
  const found = (await chain.agents(host.signal)).find((agent) => agent.agentId === agentId);
  if (found !== undefined) return found;
  throw new ConclaveError("AGENT_NOT_REGISTERED", `Find agent ${agentId}: the registry has none of that number`, {
    agentId,
  });
}
