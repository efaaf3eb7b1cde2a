import { createChainReader } from "../../adapters/chain/reader.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Address, AgentId } from "../../core/types.ts";
import type { AgentRecord, ChainReader } from "../../ports/chain.ts";
import { type AccountFlags, openOwnAccount, type OwnAccount } from "./account.ts";
import { parseInteger } from "./arguments.ts";
import type { CliHost } from "./command.ts";

/** An account that stakes for agents of others. */
export interface Delegator extends OwnAccount {
  readonly chain: ChainReader;
  readonly account: Address;
}

const MAX_AGENT_ID = 2 ** 32 - 1;

export async function openDelegator(flags: AccountFlags, host: CliHost): Promise<Delegator> {
  const own = await openOwnAccount(flags, host);
  const chain = await createChainReader({ ...own.source, finalityDepth: 0 }, host.signal);
  return { ...own, chain, account: own.keys.address };
}

/** Finds the agent that a command names. Throws USAGE or AGENT_NOT_REGISTERED. */
export async function findAgent(text: string | undefined, chain: ChainReader, host: CliHost): Promise<AgentRecord> {
  const agentId = parseInteger(text ?? "", "<agentId>", 1, MAX_AGENT_ID) as AgentId;
  const found = (await chain.agents(host.signal)).find((agent) => agent.agentId === agentId);
  if (found !== undefined) return found;
  throw new ConclaveError("AGENT_NOT_REGISTERED", `Find agent ${agentId}: the registry has none of that number`, {
    agentId,
  });
}
