import { consensusOrder } from "./consensus-order.ts";
import { seatsOf } from "../../agents/core/seat/order.ts";
import type { Tally } from "../../agents/core/seat/tally.ts";
import { ONE_PPM, type Attempt, type SeatIndex } from "../../agents/core/types.ts";
import { consensusOf } from "../../agents/core/protocols/hashgraph/consensus.ts";
import { assessOrder } from "../../agents/core/protocols/hashgraph/conclude.ts";
import type { AnswerRound, Ending, Path } from "../../agents/core/protocols/hashgraph/rules.ts";
import { isForker, graphViewOf } from "../../agents/core/protocols/hashgraph/view.ts";

/** How a consensus was reached (HG25): a pure function of the transcript, for readers. */
export interface ConsensusReport {
  readonly path: Path | "open";
  readonly answer: string | null;
  readonly rounds: readonly RoundReport[];
  /** Seats whose answers went back and forth: the same after two rounds, with another one between (HG25). */
  readonly oscillating: readonly SeatIndex[];
  readonly forkers: readonly SeatIndex[];
  /** The records in the consensus order. */
  readonly order: readonly OrderedRecord[];
  /** e.g. "4 of 4 seats agreed after 2 rounds". */
  readonly summary: string;
}

export interface RoundReport {
  readonly round: number;
  readonly answers: readonly { readonly seat: SeatIndex; readonly answer: string }[];
  /** Seats whose output counted, the base of unanimity. Decisions are counted among all seats (HG25). */
  readonly base: number;
  readonly offline: readonly SeatIndex[];
  readonly isUnanimous: boolean;
  /** Seats that left the class of their first answer. */
  readonly changed: readonly SeatIndex[];
  /** Seats outside the class on which more than 2/3 of all seats agree. */
  readonly holdOuts: readonly SeatIndex[];
}

interface OrderedRecord {
  readonly seat: SeatIndex;
  readonly stage: number;
  readonly roundReceived: number;
  readonly timestamp: number;
}

export function consensusReport(attempt: Attempt, tally: Tally): ConsensusReport {
  const view = graphViewOf(attempt, tally);
  const { rounds, ending } = assessOrder(view).assessment;
  const consensus = consensusOf(view);
  const order = consensusOrder(view.universe.graph, consensus.batches).flatMap(({ node, roundReceived, timestamp }) => {
    const told = consensus.toldBy.get(node);
    const stage = told?.body.record?.stage;
    return told === undefined || stage === undefined ? [] : [{ seat: told.seat, stage, roundReceived, timestamp }];
  });
  const seats = seatsOf(attempt);
  const last = rounds.at(-1);
  const { path, answer } = ending ?? { path: "open", answer: null };
  return {
    path,
    answer: answer?.text ?? null,
    rounds: rounds.map((result) => reportOf(seats, rounds[result.round - 1] ?? null, result)),
    oscillating: seats.filter((seat) => isOscillating(rounds, seat)),
    forkers: seats.filter((seat) => isForker(view, seat)),
    order,
    summary: summaryOf(path, `${supportersOf(ending, seats.length)} of ${seats.length} seats`, (last?.round ?? -1) + 1),
  };
}

/** Seats behind the answer. The confidence is their share of all seats, which a fallback halves (HG17). */
function supportersOf(ending: Ending | null, seats: number): number {
  if (ending === null) return 0;
  const whole = ending.path === "vote" || ending.path === "plurality" ? ONE_PPM / 2 : ONE_PPM;
  return Math.round((ending.confidence * seats) / whole);
}

function reportOf(seats: readonly SeatIndex[], before: AnswerRound | null, result: AnswerRound): RoundReport {
  const { round, outputs, classes, agreed } = result;
  const spoke = outputs.map(({ seat }) => seat);
  return {
    round,
    answers: outputs.map(({ seat, answer }) => ({ seat, answer: answer.text })),
    base: spoke.length,
    offline: seats.filter((seat) => !spoke.includes(seat)),
    isUnanimous: classes.length === 1,
    changed: before === null ? [] : spoke.filter((seat) => hasChanged(before, result, seat)),
    holdOuts: agreed === null ? [] : spoke.filter((seat) => !agreed.seats.includes(seat)),
  };
}

function answerOf(result: AnswerRound, seat: SeatIndex): string | null {
  return result.classes.find(({ seats }) => seats.includes(seat))?.representative.outcome ?? null;
}

function hasChanged(before: AnswerRound, now: AnswerRound, seat: SeatIndex): boolean {
  const was = answerOf(before, seat);
  return was !== null && was !== answerOf(now, seat);
}

function isOscillating(rounds: readonly AnswerRound[], seat: SeatIndex): boolean {
  return rounds.slice(2).some((now, index) => {
    const [first, between, last] = [rounds[index], rounds[index + 1], now].map((one) => one && answerOf(one, seat));
    return first !== null && between !== null && first === last && first !== between;
  });
}

function summaryOf(path: ConsensusReport["path"], share: string, rounds: number): string {
  const after = `after ${rounds} ${rounds === 1 ? "round" : "rounds"}`;
  switch (path) {
    case "agreement":
      return `${share} agreed ${after}`;
    case "vote":
      return `no agreement ${after}; ${share} voted for the answer (fallback)`;
    case "plurality":
      return `no agreement ${after}; the answer of ${share} (fallback)`;
    case "none":
      return `no consensus ${after}`;
    case "unread":
      return `nothing that more than 1/3 of the seats read: no answer could quote anything`;
    case "open":
      return `undecided ${after}`;
  }
}
