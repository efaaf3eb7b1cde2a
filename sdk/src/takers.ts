import { ConclaveError as CoreError } from "../../agents/core/errors.ts";
import { protocolByCode } from "../../agents/core/protocols/index.ts";
import { sampleAttempt } from "../../agents/core/request/refusal.ts";
import { refuseSources } from "../../agents/core/sources/named.ts";
import type { Terms } from "../../agents/core/types.ts";

/**
 * Refuses a question that every agent would refuse, since it would cost its fee and hang (CE19). Throws TERMS_INVALID.
 * @param question with the lines that name its sources
 */
export function requireTakers(terms: Terms, question: string): void {
  const way = refuseSources(question);
  if (way !== null) throw new CoreError("TERMS_INVALID", `Ask the question: ${way}`, { field: "question", way });
  // A code that this version does not know is the chain's matter.
  const protocol = protocolByCode(terms.protocol);
  const reason = protocol?.refuseRequest(sampleAttempt(terms, question)) ?? null;
  if (protocol === null || reason === null) return;
  const why = `every agent would refuse: ${reason}`;
  throw new CoreError("TERMS_INVALID", `Ask the question: protocol = ${JSON.stringify(protocol.id)}: ${why}`, {
    field: "protocol",
    value: protocol.id,
    way: why,
  });
}
