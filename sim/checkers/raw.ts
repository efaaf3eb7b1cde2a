import { bytesToHex } from "../../agents/core/encoding/bytes.ts";
import type { Digest, Message, Value } from "../../agents/core/types.ts";

/** The fields of a raw value; none if it is no map. */
export function fieldsOf(value: Value | undefined): { readonly [key: string]: Value } {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array)
    ? (value as { readonly [key: string]: Value })
    : {};
}

/** The digest that raw bytes state; null for anything else. */
export function digestIn(value: Value | undefined): Digest | null {
  return value instanceof Uint8Array ? (bytesToHex(value) as Digest) : null;
}

/** The record that a raw event of a hashgraph carries. */
export function recordIn(message: Message | undefined): ReturnType<typeof fieldsOf> {
  return fieldsOf(fieldsOf(message?.payload)["record"]);
}
