import { decodeEventLog, toEventSelector, type Abi, type Hex, type Log } from "viem";
import { agentRegistryAbi, decisionOracleAbi } from "conclave/abi";

type EventLog = Pick<Log, "data" | "topics">;

const oracleEvent = selectEvents(decisionOracleAbi);
const registryEvent = selectEvents(agentRegistryAbi);

/** Decodes a log of the oracle strictly. Throws what viem throws for an unknown event. */
export function decodeOracleLog({ data, topics }: EventLog) {
  return decodeEventLog({ abi: oracleEvent(topics[0]), data, topics, strict: true });
}

/** Decodes a log of the registry as `decodeOracleLog` does. */
export function decodeRegistryLog({ data, topics }: EventLog) {
  return decodeEventLog({ abi: registryEvent(topics[0]), data, topics, strict: true });
}

/**
 * Returns the part of the ABI with the topic's event, or the whole ABI if the topic is unknown: with the whole ABI viem
 * hashes every signature for each log.
 */
function selectEvents<Contract extends Abi>(abi: Contract): (topic: Hex | undefined) => Contract {
  let events: ReadonlyMap<Hex | undefined, Contract> | null = null;
  return (topic) => {
    events ??= new Map(
      abi.filter((item) => item.type === "event").map((item) => [toEventSelector(item), [item] as unknown as Contract]),
    );
    return events.get(topic) ?? abi;
  };
}
