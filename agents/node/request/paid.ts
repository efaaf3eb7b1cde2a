import { ConclaveError } from "../../core/errors.ts";

/**
 * SE28: refusals in blocks that an agent pays for one certificate, or for one request that it keeps. A node that describes as due
 * what is done would otherwise have it send what reverts, turn after turn.
 */
export const MOST_PAID_REFUSALS = 3;

/** True if the chain refused the call in a block, where its gas is paid, and not before it was sent. */
export function isPaidRefusal(error: unknown): boolean {
  return error instanceof ConclaveError && error.data["paidIn"] !== undefined;
}
