import { comparePositions, type Input, type Position, type Protocol, type Step } from "../agents/core/protocol.ts";
import { messagesOf } from "../agents/core/seat/tally.ts";
import type { Hex, Message, SeatIndex } from "../agents/core/types.ts";
import type { Signer } from "../agents/ports/signer.ts";

/** What an observer sees of the protocol's own steps. Observing changes nothing. */
export interface Watch {
  /**
   * Longest chain of model calls behind a message, by its signature. A message has the depth of the input that made
   * its seat send it, a model's answer one more than the question, a timer that of the input that set it.
   */
  readonly depths: ReadonlyMap<Hex, number>;
  /** Messages that a seat held in its latest life when the phases it had closed first were conclusive (CE2). */
  inTime(seat: SeatIndex): readonly Message[] | null;
  /** The protocol and the signer of one session, watched. */
  session(
    seat: SeatIndex,
    protocol: Protocol,
    signer: Signer,
  ): { readonly protocol: Protocol; readonly signer: Signer };
}

export function createWatch(): Watch {
  const depths = new Map<Hex, number>();
  const held = new Map<SeatIndex, readonly Message[]>();
  return {
    depths,
    inTime: (seat) => held.get(seat) ?? null,
    session(seat, protocol, signer) {
      const path = createPath(depths);
      let closed: Position | null = null;
      let isCertifying = false;
      return {
        protocol: {
          ...protocol,
          start: (context) => path.note(protocol.start(context)),
          step(state, context, tally, input) {
            path.enter(input);
            return path.note(protocol.step(state, context, tally, input));
          },
          closed(state) {
            closed = protocol.closed(state);
            return closed;
          },
          conclude(attempt, tally) {
            const conclusion = protocol.conclude(attempt, tally);
            const after = closed;
            closed = null;
            if (!isCertifying && after !== null && conclusion.kind === "final") {
              isCertifying = comparePositions(conclusion.through, after) <= 0;
              if (isCertifying) held.set(seat, [...messagesOf(tally)]);
            }
            return conclusion;
          },
        },
        signer: {
          ...signer,
          sign(digest) {
            const signature = signer.sign(digest);
            path.signed(signature);
            return signature;
          },
        },
      };
    },
  };
}

/** Depths of one session. */
function createPath(depths: Map<Hex, number>): {
  readonly enter: (input: Input) => void;
  readonly note: (step: Step<unknown>) => Step<unknown>;
  readonly signed: (signature: Hex) => void;
} {
  const asks = new Map<string, number>();
  const timers = new Map<string, number>();
  let current = 0;
  const depthOf = (input: Input): number => {
    switch (input.kind) {
      case "message":
        return depths.get(input.message.signature) ?? 0;
      case "observed":
        return (asks.get(input.ask) ?? 0) + 1;
      case "elapsed":
        return timers.get(input.timer) ?? 0;
      case "loaded":
      case "read":
        return current;
    }
  };
  return {
    enter: (input) => {
      current = depthOf(input);
    },
    note(step) {
      for (const effect of step.effects) {
        if (effect.kind === "ask") asks.set(effect.ask, current);
        if (effect.kind === "wait") timers.set(effect.timer, current);
      }
      return step;
    },
    signed: (signature) => {
      if (!depths.has(signature)) depths.set(signature, current);
    },
  };
}
