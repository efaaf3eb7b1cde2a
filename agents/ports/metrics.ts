/** How an attempt ended for a seat; `left`: without a certificate of its own, because others were quicker or it was replaced. */
export type AttemptOutcome = "decided" | "hung" | "left";

/** What became of a certificate; `refused`: one try failed, another one follows. */
export type RelayOutcome = "committed" | "already" | "refused";

/** What an operator watches of a running agent. Counts are since the start of the process. */
export interface AgentFacts {
  /** Connected now. */
  readonly peers: number;
  /** Held now, and those among them that say nothing any more. */
  readonly seats: number;
  readonly silentSeats: number;
  readonly attempts: Readonly<Record<AttemptOutcome, number>>;
  readonly relays: Readonly<Record<RelayOutcome, number>>;
  /** AV6: signatures that were not given because the store did not hold the transcript. */
  readonly withheld: number;
  /** Newest block whose events were acted on, and when (unix milliseconds); null before the first. */
  readonly chain: { readonly blockNumber: bigint; readonly atMs: number } | null;
}
