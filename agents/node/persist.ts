import { ConclaveError } from "../core/errors.ts";
import { type Clock, sleep } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { createOutage } from "./outage.ts";

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 30_000;

/**
 * Repeats the action, with back-off and jitter, until the chain answers and its gas costs no more than is paid; rejects when the signal aborts. The log says
 * when the chain went away and when it came back, and nothing of the tries between.
 */
export async function persistently(
  ports: { readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
  action: () => Promise<void>,
): Promise<void> {
  const outage = createOutage(ports.log, {
    began: "the chain does not answer, or its gas is too dear; trying again",
    ended: "the chain answers again",
  });
  for (let failures = 0; ; failures++) {
    try {
      await action();
      outage.ended();
      return;
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
      outage.failed(error);
    }
    await sleep(ports.clock, retryMs(failures), signal);
  }
}

/** The wait before the next try after so many failures and one more: between half and all of 0.25 s, 0.5 s ... 30 s. */
export function retryMs(failures: number): number {
  const full = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 16));
  return full * (0.5 + Math.random() / 2);
}

const PASSING: ReadonlySet<string> = new Set(["CHAIN_UNREACHABLE", "CHAIN_TIMEOUT", "GAS_TOO_DEAR"]);

/** True if a later try may succeed. */
function isPassing(error: unknown): boolean {
  return error instanceof ConclaveError && PASSING.has(error.code);
}
