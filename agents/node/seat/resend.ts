import { encodeMessage } from "../../core/encoding/transcript.ts";
import type { Address, Message } from "../../core/types.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Network } from "../../ports/network.ts";
import { sendPaced } from "./outbox.ts";
import type { Session } from "./session.ts";

/**
 * Sends a peer that connected again what it may have missed, since a lost connection loses frames and duplicates cost
 * little. The most urgent message of every session comes first.
 */
export function createResend(
  ports: { readonly network: Network; readonly clock: Clock },
  lifetime: AbortSignal,
): (peer: Address, sessions: readonly Session[]) => void {
  const running = new Map<Address, AbortController>();
  return (peer, sessions) => {
    running.get(peer)?.abort();
    const stop = new AbortController();
    running.set(peer, stop);
    const ranked: { readonly session: Session; readonly message: Message; readonly rank: number }[] = [];
    for (const session of sessions) {
      if (!session.attempt.committee.some(({ signer }) => signer === peer)) continue;
      for (const [rank, message] of session.backlog().entries()) ranked.push({ session, message, rank });
    }
    sendPaced(
      ports.clock,
      ranked.toSorted((a, b) => a.rank - b.rank),
      ({ session, message }) => {
        if (!session.closed()) ports.network.send(peer, encodeMessage(message));
      },
      AbortSignal.any([stop.signal, lifetime]),
    );
  };
}
