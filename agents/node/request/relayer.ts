import { messageOf } from "../../core/errors.ts";
import { canonicalRanks } from "../../core/seat/order.ts";
import type { Attempt, Certificate, Round, SeatIndex } from "../../core/types.ts";
import type { ChainReader, Receipt } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Committer } from "./committer.ts";

export interface RelayPorts {
  readonly chain: ChainReader;
  readonly committer: Committer;
  readonly clock: Clock;
  readonly log: Log;
  /** A try failed; another one follows. */
  readonly onRefused?: () => void;
}

/**
 * Submits a certificate once, whatever happens: the seats take turns in canonical order, each one stagger after the one
 * before; whoever is due first looks whether the attempt already has a decision. The chain accepts one per attempt, so a lost confirmation or two relayers at once cost at most a reverted transaction.
 */
export async function relay(
  ports: RelayPorts,
  attempt: Attempt,
  round: Round,
  self: SeatIndex,
  certificate: Certificate,
  staggerMs: number,
  signal: AbortSignal,
): Promise<Receipt | "already"> {
  const { request, committee } = attempt;
  const rank = canonicalRanks(attempt)[self] as number;
  await sleep(ports.clock, rank * staggerMs, signal);
  for (;;) {
    signal.throwIfAborted();
    try {
      const state = await ports.chain.requestState(request.id, signal);
      if (state.status !== "drawn" || state.attempt !== attempt.attempt) return "already";
      return await ports.committer.commit({ request, round, committee, certificate });
    } catch (error) {
      signal.throwIfAborted();
      ports.onRefused?.();
      const text = messageOf(error);
      ports.log.warn(
        { requestId: request.id.toString(), error: text },
        "could not commit; trying again in this seat's next turn",
      );
      await sleep(ports.clock, committee.length * staggerMs, signal);
    }
  }
}

/** Resolves after the delay; rejects when the signal aborts. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = clock.schedule(delayMs, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
