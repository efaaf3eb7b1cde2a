// The three steps of certification with frames that mean nothing: a proposal, and from each seat two votes at a quorum.
import type { Network } from "../../../agents/ports/network.ts";
import { quorumOf } from "../../../agents/core/quorum.ts";
import type { Address } from "../../../agents/core/types.ts";
import { encodeBare, type BareFrame, type Sizes } from "./messages.ts";

interface Round {
  prevotes: number;
  precommits: number;
  hasPrevoted: boolean;
  hasPrecommitted: boolean;
  /** Null until the bench has told the sizes: frames of others may come before. */
  sizes: Sizes | null;
  isProposed: boolean;
}

export interface Exchange {
  /** Begins the repetition; a proposer sends. Calls `done` once when this seat has a quorum of the last votes. */
  begin(repetition: number, sizes: Sizes, proposes: boolean): void;
  receive(frame: BareFrame): void;
}

export function createExchange(
  network: Network,
  others: readonly Address[],
  done: (repetition: number) => void,
): Exchange {
  const rounds = new Map<number, Round>();
  const ended = new Set<number>();
  const quorum = quorumOf(others.length + 1);
  const roundOf = (repetition: number): Round => {
    const round = rounds.get(repetition) ?? {
      prevotes: 0,
      precommits: 0,
      hasPrevoted: false,
      hasPrecommitted: false,
      sizes: null,
      isProposed: false,
    };
    rounds.set(repetition, round);
    return round;
  };
  const sendAll = (kind: BareFrame["kind"], repetition: number, bytes: number): void => {
    const frame = encodeBare({ kind, repetition, sentAt: 0n }, bytes);
    for (const other of others) network.send(other, frame);
  };
  const proceed = (repetition: number, round: Round): void => {
    const { sizes } = round;
    if (sizes === null) return;
    if (round.isProposed && !round.hasPrevoted) {
      round.hasPrevoted = true;
      round.prevotes++;
      sendAll("prevote", repetition, sizes[1]);
    }
    if (round.prevotes >= quorum && !round.hasPrecommitted) {
      round.hasPrecommitted = true;
      round.precommits++;
      sendAll("precommit", repetition, sizes[2]);
    }
    if (round.precommits < quorum) return;
    rounds.delete(repetition);
    ended.add(repetition);
    done(repetition);
  };
  return {
    begin(repetition, sizes, proposes) {
      const round = roundOf(repetition);
      round.sizes = sizes;
      if (proposes) {
        round.isProposed = true;
        sendAll("propose", repetition, sizes[0]);
      }
      proceed(repetition, round);
    },
    receive({ kind, repetition }) {
      if (ended.has(repetition)) return;
      const round = roundOf(repetition);
      if (kind === "propose") round.isProposed = true;
      if (kind === "prevote") round.prevotes++;
      if (kind === "precommit") round.precommits++;
      proceed(repetition, round);
    },
  };
}
