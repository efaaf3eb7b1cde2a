import { progressOf } from "../../../agents/core/request/progress.ts";
import type { VerifyOptions, VerifyReport } from "../../../agents/node/audit/report.ts";
import { standingCommit } from "../../../agents/node/audit/standing-decision.ts";
import { verifyRequest } from "../../../agents/node/audit/verify.ts";
import { guarded } from "../errors.ts";
import { auditOf, type AuditRequest } from "./audit.ts";
import { proofOf, type Proof } from "./checks.ts";
import { verifyIn, type VerifyWorker } from "./in-worker.ts";

export { ConclaveError, type ConclaveErrorCode } from "../errors.ts";
export type { ConclaveDeployment } from "../connection.ts";
export type { AuditRequest } from "./audit.ts";
export type { Check, Proof } from "./checks.ts";
export type { VerifyWorker } from "./in-worker.ts";
export type { BlockSource } from "./sources.ts";
export { watchLive, type LiveBallot, type LiveRequest, type LiveState } from "./live.ts";
export { readTranscript, type Said, type Transcript, type TranscriptMessage } from "./transcript.ts";

export interface VerifyRequest extends AuditRequest {
  /** Computes there, so that the page stays responsive. */
  readonly worker?: VerifyWorker;
}

/**
 * Proves a decision: it reads question, committee and decision from the chain and the transcript from the source,
 * checks every hash and signature, and runs the protocol again. It is what `conclave verify` runs. The node of
 * `publicClient` is trusted for what the chain holds, the sources for nothing. Rejects with a ConclaveError where there
 * can be no verdict, e.g. CHAIN_UNREACHABLE, REQUEST_UNKNOWN or NETWORK_FAILED.
 */
export function verify(request: VerifyRequest): Promise<Proof> {
  return guarded(async () => {
    const options = await auditOf(request);
    const { worker } = request;
    return proofOf(worker === undefined ? await verifyRequest(options) : await verifyThere(worker, options));
  });
}

/** Reads the chain here, since a client cannot be sent to a worker. */
async function verifyThere(worker: VerifyWorker, options: VerifyOptions): Promise<VerifyReport> {
  const { chain, requestId, signal } = options;
  const events = await chain.requestEvents(requestId, signal);
  const progress = progressOf(events);
  const committed = progress === null ? null : standingCommit(progress, events);
  const signatures = committed === null ? null : await chain.certificate(committed.transactionHash, requestId, signal);
  return verifyIn(worker, { domain: chain.domain, requestId, events, signatures }, options);
}
