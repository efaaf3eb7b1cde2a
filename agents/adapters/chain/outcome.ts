import { settlementAbi } from "@conclave/contracts/abi";
import { decisionStatusOf } from "../../core/encoding/words.ts";
import type { DecidedRound } from "../../core/request/events.ts";
import type { DecisionStatus, Digest, Ppm, Request } from "../../core/types.ts";
import type { Connection } from "./connection.ts";
import { aboutLastArguments } from "./encode.ts";
import { readSettlement } from "./prices.ts";

/** What the settlement contract says came of a final request (SE22). */
export interface ProvenOutcome {
  readonly status: DecisionStatus;
  /** Later than the attempt of the last decision if nobody answered it; then the status is hung. */
  readonly attempt: number;
  readonly confidence: Ppm;
  readonly value: Digest;
  /** True if contracts can read it by the request's id alone. */
  readonly stored: boolean;
}

/** Proves the outcome by the last decision. Throws the revert while that is not final. */
export async function readOutcome(
  connection: Connection,
  request: Request,
  last: DecidedRound,
  signal?: AbortSignal,
): Promise<ProvenOutcome> {
  const settlement = { address: await readSettlement(connection, signal), abi: settlementAbi } as const;
  const doing = `Prove the outcome of request ${request.id}`;
  const [outcome, stored] = await connection.call(doing, signal, (client) =>
    Promise.all([
      client.readContract({ ...settlement, functionName: "outcomeOf", args: aboutLastArguments(request, last) }),
      client.readContract({ ...settlement, functionName: "storedOutcome", args: [request.id] }),
    ]),
  );
  return {
    // The contract proves no other status.
    status: decisionStatusOf(outcome.status) ?? "hung",
    attempt: outcome.attempt,
    confidence: outcome.confidence as Ppm,
    value: outcome.value as Digest,
    stored: stored.status !== 0,
  };
}
