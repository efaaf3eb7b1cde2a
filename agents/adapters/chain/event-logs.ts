import { decodeEventLog, toEventSelector, type Abi, type Hex, type Log } from "viem";
import { agentRegistryAbi, decisionOracleAbi } from "conclave/abi";

type EventLog = Pick<Log, "data" | "topics">;

const oracleEvent = selectEvents(decisionOracleAbi);
const registryEvent = selectEvents(agentRegistryAbi);

/** Strictly. Throws what viem throws for a log that is none of the contract's events. */
export function decodeOracleLog({ data, topics }: EventLog) {
  return decodeEventLog({ abi: oracleEvent(topics[0]), data, topics, strict: true });
}

/** As `decodeOracleLog`. */
export function decodeRegistryLog({ data, topics }: EventLog) {
  return decodeEventLog({ abi: registryEvent(topics[0]), data, topics, strict: true });
}

/** An ABI of the one event with that topic; the whole of it where there is none. Given all, viem hashes each signature for every log. */
function selectEvents<Contract extends Abi>(abi: Contract): (topic: Hex | undefined) => Contract {
  let events: ReadonlyMap<Hex | undefined, Contract> | null = null;
  return (topic) => {
    events ??= new Map(
      abi.filter((item) => item.type === "event").map((item) => [toEventSelector(item), [item] as unknown as Contract]),
    );
    return events.get(topic) ?? abi;
  };
}
