import type { PublicClient } from "viem";
import { chainReaderOf } from "../../../agents/adapters/chain/reader.ts";
import { transactionReaderOf } from "../../../agents/adapters/chain/transaction-reader.ts";
import type { RequestId } from "../../../agents/core/types.ts";
import type { VerifyOptions } from "../../../agents/node/audit/report.ts";
import { connectionOf, type ConclaveDeployment } from "../connection.ts";
import { storeOf, type BlockSource } from "./sources.ts";

export interface AuditRequest {
  readonly publicClient: PublicClient;
  readonly deployment: ConclaveDeployment;
  readonly requestId: bigint;
  /** Asked one after the other. */
  readonly blocks: BlockSource | readonly BlockSource[];
  readonly onProgress?: VerifyOptions["onProgress"];
  readonly signal?: AbortSignal;
}

const READER = { finalityDepth: 0, pollIntervalMs: 4_000 };

/** What an audit of the agents takes. */
export async function auditOf(request: AuditRequest): Promise<VerifyOptions> {
  const { publicClient, deployment, requestId, blocks, signal = new AbortController().signal, onProgress } = request;
  const connection = connectionOf(publicClient, deployment);
  const store = storeOf(blocks);
  const reader = await chainReaderOf(connection, READER, signal);
  const chain = { ...reader, ...transactionReaderOf(connection) };
  return { chain, store, requestId: requestId as RequestId, signal, ...(onProgress && { onProgress }) };
}
