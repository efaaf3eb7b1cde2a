import { limits } from "../core/limits.ts";
import { decodeMessage, refuseMessage } from "../core/transcript.ts";
import type { Address, Attempt, Header, Message } from "../core/types.ts";
import type { Log } from "../ports/log.ts";

/** Where verified messages of a running attempt go. */
export interface Sink {
  readonly attempt: Attempt;
  knows(header: Header): boolean;
  deliver(message: Message): void;
}

export interface Ingress {
  /** One frame from an authenticated peer; never throws. */
  receive(from: Address, frame: Uint8Array): void;
  /** Hands over what came before the attempt was known. */
  opened(sink: Sink): void;
  closed(sink: Sink): void;
}

/** Decode, bound, verify: the only way a peer's bytes become an input. */
export function createIngress(log: Log): Ingress {
  const sinks = new Map<string, Sink>();
  const early = new Map<Address, Message[]>();

  const admit = (sink: Sink, message: Message, from: Address | null): void => {
    if (sink.knows(message.header)) return;
    const refused = refuseMessage(sink.attempt, message);
    if (refused !== null) log.warn({ from, reason: refused, seat: message.header.seat }, "message dropped");
    else sink.deliver(message);
  };

  return {
    receive(from, frame) {
      const message = frame.length > limits.messageBytes ? null : decodeMessage(frame);
      if (message === null) {
        log.warn({ from, bytes: frame.length, reason: "malformed" }, "message dropped");
        return;
      }
      const sink = sinks.get(keyOf(message.header.requestId, message.header.attempt));
      if (sink !== undefined) {
        admit(sink, message, from);
        return;
      }
      // The chain may be slower than a peer: keep the newest, up to the bound.
      const buffered = [...(early.get(from) ?? []), message];
      early.set(from, buffered.slice(-limits.bufferedFramesPerPeer));
    },

    opened(sink) {
      const { request, attempt } = sink.attempt;
      sinks.set(keyOf(request.id, attempt), sink);
      for (const [from, messages] of early) {
        const mine = (message: Message) =>
          message.header.requestId === request.id && message.header.attempt === attempt;
        early.set(
          from,
          messages.filter((message) => !mine(message)),
        );
        for (const message of messages.filter(mine)) admit(sink, message, from);
      }
    },

    closed(sink) {
      sinks.delete(keyOf(sink.attempt.request.id, sink.attempt.attempt));
    },
  };
}

function keyOf(requestId: bigint, attempt: number): string {
  return `${requestId}.${attempt}`;
}
