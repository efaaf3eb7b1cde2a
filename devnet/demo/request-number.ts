import type { RequestId } from "../../agents/core/types.ts";

/** The number of a request within the demo's subscription, which is short enough to read: 1 for the first. */
export function numberOf(requestId: RequestId | string): string {
  return String(BigInt.asUintN(48, BigInt(requestId)));
}
