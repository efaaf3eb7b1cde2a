import { getAbiItem, numberToHex, toEventSelector } from "viem";
import { agentRegistryAbi, slasherAbi } from "@conclave/contracts/abi";
import type { AgentId, RequestId } from "../../core/types.ts";
import type { FaultFilter, PastFault } from "../../ports/history.ts";
import type { Connection } from "./connection.ts";
import { lower, type MinedLog } from "./decode.ts";
import { createDecoder, decodeRegistryLog } from "./event-logs.ts";
import { readSlasher } from "./overturn.ts";
import { RANGE_OF_FEW } from "./logs.ts";
import { readWindow, timeOf, type Window } from "./recent.ts";

const decodeSlasherLog = createDecoder(slasherAbi);

/** `Fault` of contracts/interfaces/ISlasher.sol. */
const SIGNED_TWICE = ["messages", "decisions"] as const;

/** What the slasher's event tells. */
type Proven = Omit<PastFault, "time"> & { readonly blockNumber: bigint };
/** What the registry's event tells. */
type Taken = Pick<PastFault, "agentId" | "transaction" | "cost" | "reward">;

/** Returns the newest faults of the window's blocks, at most `limit`, the newest first, without a subgraph. */
export async function readRecentFaults(
  connection: Connection,
  { agentId, requestId }: FaultFilter,
  limit: number,
  window: Window,
): Promise<{ readonly faults: readonly PastFault[]; readonly toBlock: number }> {
  const slasher = await readSlasher(connection, window.signal);
  const agent = agentId === null ? null : numberToHex(agentId, { size: 32 });
  const selectors = [
    toEventSelector(getAbiItem({ abi: slasherAbi, name: "EquivocationProven" })),
    toEventSelector(getAbiItem({ abi: slasherAbi, name: "DecisionOverturned" })),
    toEventSelector(getAbiItem({ abi: agentRegistryAbi, name: "StakeSlashed" })),
  ];
  // The agent is the first topic of each.
  const query = { address: [connection.registry, slasher], topics: [selectors, agent] };
  const { to, found } = await readWindow(connection, query, RANGE_OF_FEW, window, (log) =>
    eventOf(log, lower(log.address) === slasher),
  );
  const wanted = withCosts(found).filter((fault) => requestId === null || fault.requestId === requestId);
  const times = new Map<bigint, number>();
  const faults: PastFault[] = [];
  for (const { blockNumber, ...fault } of wanted.toReversed().slice(0, limit)) {
    const time = times.get(blockNumber) ?? (await timeOf(connection, blockNumber, window.signal));
    times.set(blockNumber, time);
    faults.push({ ...fault, time });
  }
  return { faults, toBlock: Number(to) };
}

/** Decodes a log; null if it is malformed, since a node may send anything. */
function eventOf(log: MinedLog, isSlashers: boolean): Proven | Taken | null {
  try {
    return isSlashers ? provenIn(log) : takenIn(log);
  } catch {
    return null;
  }
}

function provenIn(log: MinedLog): Proven | null {
  const { eventName, args } = decodeSlasherLog(log);
  const place = { blockNumber: log.blockNumber, transaction: log.transactionHash, cost: 0n, reward: 0n };
  if (eventName === "DecisionOverturned") {
    const { agentId, requestId, attempt, appellant } = args;
    return { ...place, ...idsOf(agentId, requestId), attempt, fault: "overturned", reporter: lower(appellant) };
  }
  if (eventName !== "EquivocationProven") return null;
  const { agentId, requestId, attempt, reporter } = args;
  const fault = SIGNED_TWICE[args.fault];
  return fault === undefined
    ? null
    : { ...place, ...idsOf(agentId, requestId), attempt, fault, reporter: lower(reporter) };
}

function takenIn(log: MinedLog): Taken | null {
  const event = decodeRegistryLog(log);
  if (event.eventName !== "StakeSlashed") return null;
  const { agentId, bonded, unbonding, reward } = event.args;
  return { agentId: agentId as AgentId, transaction: log.transactionHash, cost: bonded + unbonding, reward };
}

function idsOf(agentId: number, requestId: bigint): Pick<PastFault, "agentId" | "requestId"> {
  return { agentId: agentId as AgentId, requestId: requestId as RequestId };
}

/** The registry tells what a fault cost right after the slasher told of the fault, in the same transaction. */
function withCosts(events: readonly (Proven | Taken)[]): readonly Proven[] {
  const faults: Proven[] = [];
  for (const event of events) {
    if ("fault" in event) {
      faults.push(event);
      continue;
    }
    const { agentId, transaction, cost, reward } = event;
    const at = faults.findLastIndex((fault) => fault.agentId === agentId && fault.transaction === transaction);
    const fault = faults[at];
    if (fault !== undefined) faults[at] = { ...fault, cost, reward };
  }
  return faults;
}
