import type { Registry } from "prom-client";
import type { AgentFacts } from "../../ports/metrics.ts";
import { seriesOf } from "./registry.ts";

/** Shows the agent's facts in the registry; they are read whenever the metrics are requested. */
export function showAgent(facts: () => AgentFacts, registry: Registry): void {
  const { gauge, total, totals } = seriesOf(registry);
  gauge("conclave_agent_peers", "Agents that this one is connected with", () => facts().peers);
  gauge("conclave_agent_seats", "Seats held now", () => facts().seats);
  gauge("conclave_agent_silent_seats", "Seats held now that say nothing any more", () => facts().silentSeats);
  gauge(
    "conclave_agent_untaken_seats",
    "Seats that could not be taken, as the log says: the agent tries again",
    () => facts().untakenSeats,
  );
  totals(
    "conclave_agent_attempts_total",
    "Attempts that ended for a seat of this agent, by what its certificate said; left: without a certificate of its own",
    "outcome",
    () => facts().attempts,
  );
  totals(
    "conclave_agent_relays_total",
    "Certificates by what became of them; refused: a try that failed and is made again",
    "outcome",
    () => facts().relays,
  );
  total(
    "conclave_agent_withheld_signatures_total",
    "Decisions not signed because the store did not hold the transcript",
    () => facts().withheld,
  );
  total(
    "conclave_agent_unread_answers_total",
    "Answers of the model that are no answers of the question's kind, as the log says in words: the seat abstains",
    () => facts().unread,
  );
  total(
    "conclave_agent_missing_answers_total",
    "Times that a seat of this agent was asked and had no answer to tell, e.g. because the others went on before its model had ended; the log says why",
    () => facts().silences,
  );
  gauge("conclave_chain_block_number", "Newest block whose events were acted on", () =>
    Number(facts().chain?.blockNumber ?? 0n),
  );
  gauge(
    "conclave_chain_followed_timestamp_seconds",
    "Unix time at which that block's events were acted on",
    () => (facts().chain?.atMs ?? 0) / 1000,
  );
}
