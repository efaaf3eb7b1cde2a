import type { PublicClient } from "viem";
import { chainReaderOf } from "../../../agents/adapters/chain/reader.ts";
import { transactionReaderOf } from "../../../agents/adapters/chain/transaction-reader.ts";
import type { RequestId } from "../../../agents/core/types.ts";
import type { VerifyOptions } from "../../../agents/node/audit/report.ts";
import { connectionOf, type ConclaveDeployment } from "../connection.ts";
import { FUNCTION, SIGNAL, having, kindOf, optional, record, requireArguments, type Kind } from "../arguments.ts";
import { CLIENT, DEPLOYMENT, REQUEST_ID } from "../signatures.ts";
import { isSource, storeOf, type BlockSource } from "./sources.ts";

export interface AuditRequest {
  readonly publicClient: PublicClient;
  readonly deployment: ConclaveDeployment;
  readonly requestId: bigint;
  /** Asked one after the other. */
  readonly blocks: BlockSource | readonly BlockSource[];
  readonly onProgress?: VerifyOptions["onProgress"];
  readonly signal?: AbortSignal;
}

const BLOCKS = kindOf(
  "a source, or a list of them: { gateway: URL }, { car: bytes } or { get: function }",
  (value) => value !== undefined && [value].flat().every(isSource),
);

const REQUEST: Kind = record(
  {
    publicClient: CLIENT,
    deployment: DEPLOYMENT,
    requestId: REQUEST_ID,
    blocks: BLOCKS,
    worker: optional(having("a worker, or leave it out", "postMessage", "addEventListener", "removeEventListener")),
    onProgress: optional(FUNCTION),
    signal: SIGNAL,
  },
  "an object with publicClient, deployment, requestId and blocks",
);

const READER = { finalityDepth: 0, pollIntervalMs: 4_000 };

/** What an audit of the agents takes. Throws USAGE. */
export async function auditOf(request: AuditRequest): Promise<VerifyOptions> {
  requireArguments({ request: REQUEST }, [request]);
  const { publicClient, deployment, requestId, blocks, signal = new AbortController().signal, onProgress } = request;
  const connection = connectionOf(publicClient, deployment);
  const store = storeOf(blocks);
  const reader = await chainReaderOf(connection, READER, signal);
  const chain = { ...reader, ...transactionReaderOf(connection) };
  return { chain, store, requestId: requestId as RequestId, signal, ...(onProgress && { onProgress }) };
}
