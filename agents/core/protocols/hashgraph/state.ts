import type { Proposal } from "../../phases/proposals.ts";
import type { Observation } from "../../protocol.ts";
import type { SeatIndex } from "../../types.ts";
import type { StageRecord } from "./payloads.ts";
import type { GraphView } from "./view.ts";

/** One seat's course. What it decides is only when it speaks; never how a set of events is judged. */
export interface HashgraphState {
  readonly graph: GraphView;
  /** The stage this seat is in, or would open next while it waits for the consensus order. */
  readonly stage: number;
  /**
   * `collect`: records of the stage come in; `spread`: everybody comes to have them; `order`: virtual voting runs; `finish`: the
   * order has decided.
   */
  readonly step: "collect" | "spread" | "order" | "finish";
  /** Stages closed. */
  readonly closed: number;
  /** The own record of the stage, ready to be said. */
  readonly record: StageRecord | null;
  /** Whether the own record of the stage is out. */
  readonly said: boolean;
  readonly calls: readonly PendingCall[];
  readonly heard: readonly HeardCall[];
  /** The own answer so far. */
  readonly proposal: Proposal | null;
  readonly graceRunning: boolean;
  /** Seats this one has waited for in vain and does not wait for until they are back (HG14). */
  readonly lagging: readonly SeatIndex[];
  /** Of the next own event. */
  readonly sequence: number;
  /** Whether an own event is on its way back from the host. */
  readonly flying: boolean;
  /** Milliseconds waited since the last own event. */
  readonly waitedMs: number;
  /** So often this seat has waited for events that miss a parent. */
  readonly demands: number;
  readonly demandRunning: boolean;
  /** Whether its next event has to ask for them. */
  readonly demanding: boolean;
  /** HG20: where it stood when it began to watch for progress, or said that it is stuck; null while it does not watch. */
  readonly watched: string | null;
  /** So often it has begun to. */
  readonly watches: number;
  /** Whether it has to say that it is stuck, has said so, or has to take it back. */
  readonly stuck: "no" | "due" | "said" | "back";
  readonly lastSaid: boolean;
  /** Own events after the last one. */
  readonly helps: number;
  /** Whether it waits a grace before it certifies what it has concluded. */
  readonly settling: boolean;
  readonly settled: boolean;
}

export interface PendingCall {
  readonly ask: string;
  readonly about: readonly string[];
}

export interface HeardCall {
  readonly about: readonly string[];
  readonly answered: Extract<Observation, { kind: "answered" }>;
}
