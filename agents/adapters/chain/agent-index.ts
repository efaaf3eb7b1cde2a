import { toEventSelector, getAbiItem, type ContractFunctionReturnType } from "viem";
import { multicall } from "viem/actions";
import { agentRegistryAbi } from "@conclave/contracts/abi";
import { ConclaveError } from "../../core/errors.ts";
import { ONE_PPM, type AgentId, type Ppm } from "../../core/types.ts";
import { PROVEN_SERVICES, type AgentRecord } from "../../ports/chain.ts";
import type { Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import { RECENT_BLOCKS } from "./follow.ts";
import { RANGE_OF_ALL, RANGE_OF_FEW, rangeSize, scanLogs } from "./logs.ts";
import { readHead } from "./head.ts";
import { foldAgents, type Agents } from "./registry.ts";

/** Agents after all blocks before `next`. */
interface Folded {
  readonly agents: Agents;
  readonly next: bigint;
}

type AgentState = ContractFunctionReturnType<typeof agentRegistryAbi, "view", "getAgent">;

/** What the registry's state does not keep of an agent: its key, endpoint and model. */
const TOLD_BY_EVENTS = ["AgentRegistered", "SignerRotated", "EndpointUpdated", "ModelUpdated"] as const;
/** Agents of one call: as many fit into the largest code that a node runs (EIP-3860). */
const AGENTS_AT_ONCE = 100;

/**
 * Reads the agents as of the newest block: final events of the registry are folded once, the rest on every call. Settlements
 * make many events, so on a long chain the first call reads the registry's state of a final block instead of all before it.
 */
export function createAgentIndex(
  connection: Connection,
  finalityDepth: number,
): (signal?: AbortSignal) => Promise<Agents> {
  const query = { address: [connection.registry] };
  const size = rangeSize(RANGE_OF_ALL);
  let folded: Folded | null = null;

  return async (signal) => {
    const { number } = await readHead(connection, signal);
    // A node that lacks recent blocks leaves their logs out, so they are read again until all nodes have them.
    const final = number - BigInt(Math.max(finalityDepth, RECENT_BLOCKS));
    const before = folded;
    const start = before ?? (await readStart(connection, final, signal));
    const logs = await scanLogs(connection, query, { from: start.next, to: number, size }, signal);
    const isFinal = logs.filter(({ blockNumber }) => blockNumber <= final);
    const agents = foldAgents(start.agents, isFinal);
    if (final + 1n >= start.next && folded === before) folded = { agents, next: final + 1n };
    return foldAgents(agents, logs.slice(isFinal.length));
  };
}

/** Returns the agents after the final block, or none where all events are soon read or the node has no state of that block. */
async function readStart(connection: Connection, final: bigint, signal: AbortSignal | undefined): Promise<Folded> {
  const { deploymentBlock } = connection;
  const none = { agents: new Map(), next: deploymentBlock };
  if (final - deploymentBlock < RANGE_OF_ALL) return none;
  try {
    return { agents: await readAgents(connection, final, signal), next: final + 1n };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ConclaveError) return none;
    throw error;
  }
}

async function readAgents(connection: Connection, block: bigint, signal: AbortSignal | undefined): Promise<Agents> {
  const { registry, deploymentBlock } = connection;
  const selectors = TOLD_BY_EVENTS.map((name) => toEventSelector(getAbiItem({ abi: agentRegistryAbi, name })));
  const query = { address: [registry], topics: [selectors] };
  const range = { from: deploymentBlock, to: block, size: rangeSize(RANGE_OF_FEW) };
  const told = [...foldAgents(new Map(), await scanLogs(connection, query, range, signal)).values()];
  const agents = new Map<AgentId, AgentRecord>();
  for (let at = 0; at < told.length; at += AGENTS_AT_ONCE) {
    const some = told.slice(at, at + AGENTS_AT_ONCE);
    const states = await readStates(connection, some, block, signal);
    for (const [index, agent] of some.entries())
      agents.set(agent.agentId, { ...agent, ...shown(states[index] as AgentState) });
  }
  return agents;
}

function readStates(
  connection: Connection,
  agents: readonly AgentRecord[],
  blockNumber: bigint,
  signal: AbortSignal | undefined,
): Promise<readonly AgentState[]> {
  const contracts = agents.map(({ agentId }) => ({
    address: connection.registry,
    abi: agentRegistryAbi,
    functionName: "getAgent" as const,
    args: [agentId] as const,
  }));
  // Deployless: not every chain has a contract that makes several calls.
  const how = { blockNumber, allowFailure: false, batchSize: 0, deployless: true } as const;
  return connection.call("Read the agents", signal, async (client) => {
    // viem does not tell the type of these results.
    return (await multicall(client, { contracts, ...how })) as readonly AgentState[];
  });
}

function shown(state: AgentState): Partial<AgentRecord> {
  return {
    operator: lower(state.operator),
    signer: lower(state.signer),
    reputation: Math.min(state.reputation, ONE_PPM) as Ppm,
    stake: state.bonded.assets,
    unbonding: state.unbonding.assets,
    active: state.active,
    exited: state.exited,
    asleep: state.asleep,
    commission: state.commission as Ppm,
    raise: state.raiseTime === 0 ? null : { commission: state.announcedCommission as Ppm, time: state.raiseTime },
    proven: state.service >= PROVEN_SERVICES,
  };
}
