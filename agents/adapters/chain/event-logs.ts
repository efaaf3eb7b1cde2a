import {
  concatHex,
  decodeAbiParameters,
  toEventSelector,
  type Abi,
  type AbiEvent,
  type AbiParameter,
  type DecodeEventLogReturnType,
  type Hex,
  type Log,
} from "viem";
import { agentRegistryAbi, decisionOracleAbi } from "@conclave/contracts/abi";

type EventLog = Pick<Log, "data" | "topics">;

/** Decodes a log of the oracle strictly. Throws for an unknown event, and for topics or data that are cut off. */
export const decodeOracleLog = createDecoder(decisionOracleAbi);

/** Decodes a log of the registry as `decodeOracleLog` does. */
export const decodeRegistryLog = createDecoder(agentRegistryAbi);

interface Form {
  readonly name: string;
  /** Each fills one topic after the first. */
  readonly indexed: readonly AbiParameter[];
  readonly data: readonly AbiParameter[];
}

/** Each event is found by its topic. viem would hash the signatures again for each log. */
export function createDecoder<const Contract extends Abi>(
  abi: Contract,
): (log: EventLog) => DecodeEventLogReturnType<Contract> {
  let forms: ReadonlyMap<Hex | undefined, Form> | null = null;
  return ({ data, topics: [selector, ...topics] }) => {
    forms ??= formsOf(abi);
    const form = forms.get(selector);
    if (form === undefined) throw new Error(`an unknown event ${selector ?? "without topics"}`);
    const values = [...read(form.indexed, concatHex(topics)), ...read(form.data, data)];
    const names = [...form.indexed, ...form.data].map(({ name }) => name);
    const args = Object.fromEntries(names.map((name, index) => [name, values[index]]));
    return { eventName: form.name, args } as DecodeEventLogReturnType<Contract>;
  };
}

function formsOf(abi: Abi): ReadonlyMap<Hex, Form> {
  const events = abi.filter((item): item is AbiEvent => item.type === "event");
  return new Map(
    events.map((item) => {
      const indexed = item.inputs.filter((input) => input.indexed === true);
      const data = item.inputs.filter((input) => input.indexed !== true);
      return [toEventSelector(item), { name: item.name, indexed, data }];
    }),
  );
}

function read(parameters: readonly AbiParameter[], data: Hex): readonly unknown[] {
  return parameters.length === 0 ? [] : decodeAbiParameters(parameters, data);
}
