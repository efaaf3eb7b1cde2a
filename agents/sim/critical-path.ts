import type { Input, Protocol, Step } from "../core/protocol.ts";
import type { Hex } from "../core/types.ts";
import type { Signer } from "../ports/signer.ts";

/**
 * Follows the model calls that stand one after the other behind every message: a message has the depth of the input that
 * made its seat say it, a model's answer one more than the question, a timer that of whoever armed it.
 */
export interface CriticalPath {
  readonly depths: ReadonlyMap<Hex, number>;
  /** The protocol and the signer of one session, watched; they do what they did. */
  watch(protocol: Protocol, signer: Signer): { readonly protocol: Protocol; readonly signer: Signer };
}

export function createCriticalPath(): CriticalPath {
  const depths = new Map<Hex, number>();
  return {
    depths,
    watch(protocol, signer) {
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
            return current;
        }
      };
      const note = (step: Step<unknown>): Step<unknown> => {
        for (const effect of step.effects) {
          if (effect.kind === "ask") asks.set(effect.ask, current);
          if (effect.kind === "wait") timers.set(effect.timer, current);
        }
        return step;
      };
      return {
        protocol: {
          ...protocol,
          start: (context) => note(protocol.start(context)),
          step(state, context, tally, input) {
            current = depthOf(input);
            return note(protocol.step(state, context, tally, input));
          },
        },
        signer: {
          ...signer,
          sign(digest) {
            const signature = signer.sign(digest);
            if (!depths.has(signature)) depths.set(signature, current);
            return signature;
          },
        },
      };
    },
  };
}
