import type { Protocol } from "../../core/protocol.ts";
import { protocolByCode } from "../../core/protocols/index.ts";
import type { ChainEvent, CommittedDecision } from "../../core/request/events.ts";
import { lastRound, progressOf, type Progress } from "../../core/request/progress.ts";
import type { Attempt } from "../../core/types.ts";
import { Failed } from "./report.ts";

/** Returns the event of the standing decision; null if no decision stands. */
export function standingCommit(progress: Progress, events: readonly ChainEvent[]): CommittedDecision | null {
  const attempt = lastRound(progress)?.decision.attempt;
  const found = events.findLast((event) => event.kind === "decisionCommitted" && event.decision.attempt === attempt);
  return found?.kind === "decisionCommitted" ? found : null;
}

/** Returns what the chain fixed for the attempt whose decision stands. Throws if no decision stands. */
export function standingAttempt(
  domain: Attempt["domain"],
  events: readonly ChainEvent[],
): { readonly attempt: Attempt; readonly protocol: Protocol; readonly committed: CommittedDecision } {
  const progress = progressOf(events);
  if (progress === null) throw new Failed("chain", "its question cannot be read from the chain", null, "unavailable");
  const last = lastRound(progress);
  const committed = standingCommit(progress, events);
  if (last === null || committed === null)
    throw new Failed("chain", "it has no decision that stands", null, "undecided");
  const { request } = progress;
  const protocol = protocolByCode(request.terms.protocol);
  if (protocol === null) {
    const reason = `protocol ${request.terms.protocol} is not one of this program's`;
    throw new Failed("chain", reason, null, "unavailable");
  }
  const attempt = { domain, request, attempt: last.decision.attempt, committee: last.committee };
  return { attempt, protocol, committed };
}
