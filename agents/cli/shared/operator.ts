import { createChainReader, type ReaderOptions } from "../../adapters/chain/reader.ts";
import { readChainTerms, type ChainTerms } from "../../adapters/chain/terms.ts";
import type { Keys } from "../../adapters/keystore/keys.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import type { AgentRecord, ChainReader } from "../../ports/chain.ts";
import { chainSource } from "./chain-source.ts";
import type { CliHost } from "./command.ts";
import type { AgentConfig } from "./config.ts";
import { keystoreAddress, openOperatorKeys, readConfigOf, type AgentFlags, type OperatorFlags } from "./keys.ts";

/** An agent as the chain knows it. */
export interface AgentOnChain {
  readonly config: AgentConfig;
  readonly source: ReaderOptions;
  readonly chain: ChainReader;
  readonly terms: ChainTerms;
  readonly signer: Address;
  readonly record: AgentRecord | null;
}

export interface OperatorOnChain extends AgentOnChain {
  readonly record: AgentRecord;
  readonly keys: Keys;
}

/** Looks up the agent of the config. Needs no password. */
export async function lookUpAgent(flags: AgentFlags, host: CliHost): Promise<AgentOnChain> {
  const config = await readConfigOf(flags, host);
  const source = chainSource(config.chain);
  const signer = await keystoreAddress(config.keystore);
  const [chain, terms] = await Promise.all([
    createChainReader(source, host.signal),
    readChainTerms(source, host.signal),
  ]);
  return { config, source, chain, terms, signer, record: await chain.agentBySigner(signer, host.signal) };
}

/** Looks up the agent, and opens its operator's key. Throws as `openOperatorOf` does. */
export async function openOperator(flags: OperatorFlags, host: CliHost): Promise<OperatorOnChain> {
  return openOperatorOf(await lookUpAgent(flags, host), flags, host);
}

/** Opens the operator's key. Throws AGENT_NOT_REGISTERED, or CONFIG_INVALID if another account owns the stake. */
export async function openOperatorOf(
  agent: AgentOnChain,
  flags: OperatorFlags,
  host: CliHost,
): Promise<OperatorOnChain> {
  const record = requireRegistered(agent);
  const keys = await openOperatorKeys(agent.config, flags, host);
  if (keys.address === record.operator) return { ...agent, record, keys };
  throw new ConclaveError(
    "CONFIG_INVALID",
    `Act for agent ${record.agentId}: its operator is ${record.operator}, but the keystore holds ${keys.address}; give the right one with --operator-keystore`,
    { agentId: record.agentId, operator: record.operator, account: keys.address },
  );
}

export function requireRegistered({ record, signer, source }: AgentOnChain): AgentRecord {
  if (record !== null) return record;
  throw new ConclaveError(
    "AGENT_NOT_REGISTERED",
    `Find the agent: the registry ${source.registry} of chain ${source.chainId} has none with signer ${signer}; register it, or correct the chain in the config`,
    { signer, registry: source.registry },
  );
}
