import { ConclaveError, messageOf } from "../core/errors.ts";
import { type Clock, sleep } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 30_000;

/** Repeats the action, with back-off and jitter, until the chain answers; rejects when the signal aborts. */
export async function persistently(
  ports: { readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
  action: () => Promise<void>,
): Promise<void> {
  for (let failures = 0; ; failures++) {
    try {
      await action();
      return;
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
      ports.log.warn({ failures: failures + 1, error: messageOf(error) }, "the chain does not answer; trying again");
    }
    const full = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 16));
    await sleep(ports.clock, full * (0.5 + Math.random() / 2), signal);
  }
}

/** True if a later try may succeed. */
function isPassing(error: unknown): boolean {
  return error instanceof ConclaveError && (error.code === "CHAIN_UNREACHABLE" || error.code === "CHAIN_TIMEOUT");
}
