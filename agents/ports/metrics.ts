import type { DecisionStatus } from "../core/types.ts";

/**
 * How an attempt ended for a seat. `left`: the seat had no certificate, because others were quicker or the committee
 * was replaced.
 */
export type AttemptEnd = DecisionStatus | "left";

/** What became of a certificate. `refused`: a try failed. */
export type RelayEnd = "committed" | "already" | "refused";

/** What an operator watches of a running agent. Counts are since the start of the process. */
export interface AgentFacts {
  /** Peers connected now. */
  readonly peers: number;
  /** Seats held now, and those among them that fell silent. */
  readonly seats: number;
  readonly silentSeats: number;
  /** Seats that this agent was drawn for and could not take, e.g. because its disk is full; it tries again. */
  readonly untakenSeats: number;
  readonly attempts: Readonly<Record<AttemptEnd, number>>;
  readonly relays: Readonly<Record<RelayEnd, number>>;
  /** AV6: signatures that seats withheld because the store did not hold the transcript. */
  readonly withheld: number;
  /** Answers of the model that were no answers of the question's kind. */
  readonly unread: number;
  /** Times that seats of this agent were asked and said that they have no answer. */
  readonly silences: number;
  /** Newest block whose events were handled, and when (Unix milliseconds); null before the first. */
  readonly chain: { readonly blockNumber: bigint; readonly atMs: number } | null;
}

/**
 * Why a live stream refused or ended a watcher. `busy`: more requests or watchers than the server takes; `address`: one address watches
 * enough already; `slow`: the watcher did not take what it was sent.
 */
export type LiveRefusal = "busy" | "address" | "slow";

/** What an operator watches of the live stream. Counts are since the start of the process. */
export interface LiveFacts {
  readonly watchers: number;
  /** Events that were sent, to all watchers together. */
  readonly sent: number;
  readonly refused: Readonly<Record<LiveRefusal, number>>;
}
