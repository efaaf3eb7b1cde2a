import { encodeFunctionData, parseEventLogs, type TransactionReceipt } from "viem";
import { agentRegistryAbi, slasherAbi } from "@conclave/contracts/abi";
import type { Overturn } from "../../core/request/overturn.ts";
import type { DecidedRound } from "../../core/request/events.ts";
import { hashedRequest } from "../../core/encoding/typed-data.ts";
import type { Address, AgentId, Request } from "../../core/types.ts";
import type { SeatLoss } from "../../ports/chain.ts";
import type { Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import { decidedOf } from "./encode.ts";
import { callMessage, type TransactionCall } from "./transactions.ts";

/** Returns the slasher, which is bound to the registry for ever. */
export async function readSlasher(connection: Connection, signal?: AbortSignal): Promise<Address> {
  const slasher = await connection.call("Find the slasher", signal, (client) =>
    client.readContract({ address: connection.registry, abi: agentRegistryAbi, functionName: "slasher" }),
  );
  return lower(slasher);
}

/**
 * Returns the call that slashes the seats that signed an overturned decision (SC2).
 * @param rounds all rounds of the settled request
 */
export function overturnCall(
  slasher: Address,
  request: Request,
  rounds: readonly DecidedRound[],
  { first, second }: Overturn,
): TransactionCall {
  const args = [hashedRequest(request), rounds.map(decidedOf), BigInt(first), BigInt(second)] as const;
  const data = encodeFunctionData({ abi: slasherAbi, functionName: "submitOverturned", args });
  return { to: slasher, data, doing: `Slash the seats of request ${request.id} whose decision was overturned` };
}

/** Returns the gas that the call takes now, whoever sends it. Throws the decoded revert. */
export async function overturnGas(
  connection: Connection,
  call: TransactionCall,
  signal?: AbortSignal,
): Promise<bigint> {
  return connection.call(call.doing, signal, (client) => client.estimateGas(callMessage(call)));
}

/** Returns what each agent has lost by the call. */
export function lossesIn({ logs }: TransactionReceipt, registry: Address): readonly SeatLoss[] {
  const own = logs.filter(({ address }) => lower(address) === registry);
  const slashed = parseEventLogs({ abi: agentRegistryAbi, eventName: "StakeSlashed", logs: own });
  return slashed.map(({ args: { agentId, bonded, unbonding } }) => ({
    agentId: agentId as AgentId,
    amount: bonded + unbonding,
  }));
}
