import type { SeatView } from "../../phases/phased-rules.ts";
import type { Proposal } from "../../phases/proposals.ts";
import type { Origin } from "../../prompts/prompt.ts";
import type { Observation, Step } from "../../protocol.ts";
import type { SeatIndex } from "../../types.ts";
import { stagesOf } from "./config.ts";
import type { StageRecord } from "./payloads.ts";
import { isForker, type GraphView, type Told } from "./view.ts";

/** Where one seat is in the deliberation. It decides only when the seat speaks, never how a set of events is assessed. */
export interface HashgraphState {
  readonly graph: GraphView;
  /** The stage this seat is in, or would open next while it waits for the consensus order. */
  readonly stage: number;
  /**
   * `collect`: records of the stage arrive; `spread`: all seats get to hold them; `order`: virtual voting runs; `finish`: the order has
   * decided.
   */
  readonly step: "collect" | "spread" | "order" | "finish";
  /** Number of stages closed. */
  readonly closed: number;
  /** The own record of the stage, ready to be said. */
  readonly record: StageRecord | null;
  /** True once the own record of the stage is out. */
  readonly said: boolean;
  readonly calls: readonly PendingCall[];
  readonly heard: readonly HeardCall[];
  /** HG26: what this seat read; null before it did. */
  readonly read: SeatView<unknown>["read"];
  /** The own answer so far. */
  readonly proposal: Proposal | null;
  /** PH12: what made the first answer, while it is sealed. */
  readonly sealed: readonly Origin[];
  readonly graceRunning: boolean;
  /** Seats that this one awaited in vain, and does not await until they are back (HG14). */
  readonly lagging: readonly SeatIndex[];
  /** Sequence number of the next own event. */
  readonly sequence: number;
  /** True while an own event is on its way back from the host. */
  readonly flying: boolean;
  /** Milliseconds waited since the last own event. */
  readonly waitedMs: number;
  /** How many times this seat has waited for missing parents. */
  readonly demands: number;
  readonly demandRunning: boolean;
  /** True if its next event has to ask for them. */
  readonly demanding: boolean;
  /** HG20: the snapshot when it began to watch for progress, or said that it is stuck; null while it does not watch. */
  readonly watched: string | null;
  /** How many times watching has started. */
  readonly watches: number;
  /** `due`: it has to say that it is stuck; `said`: it has said so; `back`: it has to take that back. */
  readonly stuck: "no" | "due" | "said" | "back";
  readonly lastSaid: boolean;
  /** Number of own events made for others after the last one. */
  readonly helps: number;
  /** True while it waits a grace before it certifies its conclusion. */
  readonly concluding: boolean;
  readonly concluded: boolean;
}

export interface PendingCall {
  readonly ask: string;
  readonly about: readonly string[];
}

export interface HeardCall {
  readonly about: readonly string[];
  readonly answered: Extract<Observation, { kind: "answered" }>;
}

export type HashgraphStep = Step<HashgraphState>;

/** HG8: each seat's first record of the stage, without known forkers. A repeated record is no news. */
export function recordsIn({ graph, stage }: HashgraphState): readonly Told[] {
  const said = graph.told.filter(({ seat, body }) => body.record?.stage === stage && !isForker(graph, seat));
  return said.filter((told) => said.find(({ seat }) => seat === told.seat) === told);
}

/** HG26: true until a seat can say what it read. Its first event says that. */
export function isReading({ graph, stage, step, said, record }: HashgraphState): boolean {
  return stagesOf(graph.attempt)[stage]?.kind === "gather" && step === "collect" && !said && record === null;
}
