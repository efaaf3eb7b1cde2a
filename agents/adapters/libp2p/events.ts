import type { Address } from "../../core/types.ts";

/** Events that an operator may want to see in a log; none needs an answer. */
export type NetworkEvent =
  | { readonly kind: "peerInvalid"; readonly peer: Address; readonly reason: string }
  | { readonly kind: "connectionRefused"; readonly host: string; readonly strangers: number }
  | { readonly kind: "connectionReplaced"; readonly peer: Address }
  | { readonly kind: "streamRefused"; readonly peerId: string }
  | { readonly kind: "frameRefused"; readonly peer: Address; readonly reason: string }
  | { readonly kind: "framesDropped"; readonly peer: Address; readonly frames: number }
  | { readonly kind: "linkUp"; readonly peer: Address }
  | { readonly kind: "linkDown"; readonly peer: Address; readonly reason: string }
  | { readonly kind: "listenerFailed"; readonly reason: string };

export type NetworkListener = (event: NetworkEvent) => void;

/** Returns an error's text, short enough for a log line whatever a peer put into it. */
export function shortReason(error: unknown): string {
  return (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(0, 200);
}

/** Calls every listener; one that throws is our bug and must not cost the peer its stream. */
export function notify<Args extends readonly unknown[]>(
  listeners: Iterable<(...args: Args) => void>,
  report: NetworkListener,
  ...args: Args
): void {
  for (const listener of listeners) {
    try {
      listener(...args);
    } catch (error) {
      report({ kind: "listenerFailed", reason: shortReason(error) });
    }
  }
}
