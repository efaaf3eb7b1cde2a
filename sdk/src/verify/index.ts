import type { PublicClient } from "viem";
import { chainReaderOf } from "../../../agents/adapters/chain/reader.ts";
import { transactionReaderOf } from "../../../agents/adapters/chain/transaction-reader.ts";
import { progressOf } from "../../../agents/core/request/progress.ts";
import type { RequestId } from "../../../agents/core/types.ts";
import type { VerifyOptions, VerifyReport } from "../../../agents/node/audit/report.ts";
import { standingCommit } from "../../../agents/node/audit/standing-decision.ts";
import { verifyRequest } from "../../../agents/node/audit/verify.ts";
import { connectionOf, type ConclaveDeployment } from "../connection.ts";
import { guarded } from "../errors.ts";
import { proofOf, type Proof } from "./checks.ts";
import { verifyIn, type VerifyWorker } from "./in-worker.ts";
import { storeOf, type BlockSource } from "./sources.ts";

export { ConclaveError, type ConclaveErrorCode } from "../errors.ts";
export type { ConclaveDeployment } from "../connection.ts";
export type { Check, Proof } from "./checks.ts";
export type { VerifyWorker } from "./in-worker.ts";
export type { BlockSource } from "./sources.ts";

export interface VerifyRequest {
  readonly publicClient: PublicClient;
  readonly deployment: ConclaveDeployment;
  readonly requestId: bigint;
  /** Asked one after the other. */
  readonly blocks: BlockSource | readonly BlockSource[];
  /** Computes there, so that the page stays responsive. */
  readonly worker?: VerifyWorker;
  readonly onProgress?: VerifyOptions["onProgress"];
  readonly signal?: AbortSignal;
}

const READER = { finalityDepth: 0, pollIntervalMs: 4_000 };

/**
 * Proves a decision: it reads question, committee and decision from the chain and the transcript from the source,
 * checks every hash and signature, and runs the protocol again. It is what `conclave verify` runs. The node of
 * `publicClient` is trusted for what the chain holds, the sources for nothing. Rejects with a ConclaveError where there
 * can be no verdict, e.g. CHAIN_UNREACHABLE, REQUEST_UNKNOWN or NETWORK_FAILED.
 */
export function verify({
  publicClient,
  deployment,
  requestId,
  blocks,
  worker,
  ...asked
}: VerifyRequest): Promise<Proof> {
  const { signal = new AbortController().signal, onProgress } = asked;
  return guarded(async () => {
    const connection = connectionOf(publicClient, deployment);
    const options = { store: storeOf(blocks), signal, ...(onProgress && { onProgress }) };
    const id = requestId as RequestId;
    const reader = await chainReaderOf(connection, READER, signal);
    const chain = { ...reader, ...transactionReaderOf(connection) };
    return proofOf(
      worker === undefined
        ? await verifyRequest({ ...options, chain, requestId: id })
        : await verifyThere(worker, { ...options, chain, requestId: id }),
    );
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
