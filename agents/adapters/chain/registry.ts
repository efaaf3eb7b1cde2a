import { hexToBytes } from "viem";
import { ONE_PPM, type Address, type AgentId, type Ppm } from "../../core/types.ts";
import type { AgentRecord } from "../../ports/chain.ts";
import { lower, type MinedLog } from "./decode.ts";
import { decodeRegistryLog } from "./event-logs.ts";

export type Agents = ReadonlyMap<AgentId, AgentRecord>;

type RegistryEvent = ReturnType<typeof decodeRegistryLog>;
type ArgsOf<Name extends RegistryEvent["eventName"]> = Extract<RegistryEvent, { eventName: Name }>["args"];

/** Most multiaddrs of one agent that are read. */
const MAX_ENDPOINTS = 8;

/** Rebuilds the registry from its events, in chain order; the contract's events carry the whole state. */
export function foldAgents(agents: Agents, logs: readonly MinedLog[]): Agents {
  const result = new Map(agents);
  for (const log of logs) {
    const event = decodeRegistryLog(log);
    if (event.eventName === "AgentRegistered") {
      result.set(event.args.agentId as AgentId, newAgent(event.args));
      continue;
    }
    const agent = "agentId" in event.args ? result.get(event.args.agentId as AgentId) : undefined;
    if (agent !== undefined) result.set(agent.agentId, { ...agent, ...changeOf(agent, event) });
  }
  return result;
}

export function findBySigner(agents: Agents, signer: Address): AgentRecord | null {
  return agents.values().find((agent) => agent.signer === signer) ?? null;
}

function newAgent(args: ArgsOf<"AgentRegistered">): AgentRecord {
  return {
    agentId: args.agentId as AgentId,
    operator: lower(args.operator),
    signer: lower(args.signer),
    publicKey: hexToBytes(args.publicKey),
    endpoint: parseEndpoint(args.endpoint),
    model: args.model,
    reputation: Math.min(args.reputation, ONE_PPM) as Ppm,
    stake: 0n,
    unbonding: 0n,
    active: false,
    exited: false,
    asleep: false,
    commission: args.commission as Ppm,
    raise: null,
    proven: false,
  };
}

function changeOf({ stake, unbonding }: AgentRecord, event: RegistryEvent): Partial<AgentRecord> {
  switch (event.eventName) {
    case "StakeBonded":
      return { stake: stake + event.args.amount };
    case "UnbondingStarted":
      return { stake: stake - event.args.amount, unbonding: unbonding + event.args.amount };
    case "StakeWithdrawn":
      return { unbonding: unbonding - event.args.amount };
    case "StakeSlashed":
      return { stake: stake - event.args.bonded, unbonding: unbonding - event.args.unbonding };
    case "SignerRotated":
      return { signer: lower(event.args.signer), publicKey: hexToBytes(event.args.publicKey) };
    case "OperatorTransferred":
      return { operator: lower(event.args.operator) };
    case "EndpointUpdated":
      return { endpoint: parseEndpoint(event.args.endpoint) };
    case "ModelUpdated":
      return { model: event.args.model };
    case "AgentActivated":
      return { active: true };
    case "AgentDeactivated":
      return { active: false };
    case "AgentExited":
      return { exited: true };
    case "AgentFellAsleep":
      return { asleep: true };
    case "AgentWoke":
      return { asleep: false };
    case "CommissionChanged":
      return { commission: event.args.commission as Ppm, raise: null };
    case "CommissionRaiseAnnounced":
      return { raise: { commission: event.args.commission as Ppm, time: event.args.raiseTime } };
    case "AgentProven":
      return { proven: true };
    case "ReputationChanged":
      return { reputation: Math.min(event.args.reputation, ONE_PPM) as Ppm };
    default:
      return {};
  }
}

/** Splits comma separated multiaddrs; the network adapter reads them. */
function parseEndpoint(text: string): readonly string[] {
  const parts = text.split(",", MAX_ENDPOINTS).map((part) => part.trim());
  return parts.filter((part) => part.startsWith("/"));
}
