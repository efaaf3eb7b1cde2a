import type { Hex } from "viem";
import type { CertifiedDecision, FinalRequest } from "../../ports/chain.ts";
import { isCommitted } from "../../core/request/state.ts";
import type { BatchJob } from "./batch.ts";
import type { Connection } from "./connection.ts";
import { encodeCommit, encodeSettle } from "./encode.ts";
import { readHeader } from "./header.ts";
import { readRequestState } from "./reader.ts";

/** Returns what makes the call that commits a decision. In one transaction the first commit of a seed block proves it for those after it. */
export function createCommitJobs(
  connection: Connection,
  signal: AbortSignal | undefined,
): (commit: CertifiedDecision) => Promise<BatchJob> {
  const headers = new Map<bigint, Promise<Hex>>();
  const seedBlocks = new Map<BatchJob, bigint>();
  return async ({ request, awaited, certificate }) => {
    const { seedBlock } = awaited;
    const header = headers.get(seedBlock) ?? readHeader(connection, seedBlock, signal);
    headers.set(seedBlock, header);
    const data = encodeCommit(request, awaited, await header, certificate);
    const job: BatchJob = {
      data,
      dataAfter: (earlier) =>
        earlier.some((one) => seedBlocks.get(one) === seedBlock)
          ? encodeCommit(request, awaited, "0x", certificate)
          : data,
      doing: `Commit the decision on request ${request.id}`,
      isDone: async (ended) =>
        isCommitted(await readRequestState(connection, request.id, ended), certificate.decision.attempt),
    };
    seedBlocks.set(job, seedBlock);
    return job;
  };
}

/** Makes the call that settles a request. */
export function settleJob(connection: Connection, { request, rounds }: FinalRequest): BatchJob {
  const isDone = async (ended: AbortSignal | undefined): Promise<boolean> =>
    (await readRequestState(connection, request.id, ended)).settled;
  return { data: encodeSettle(request, rounds), doing: `Settle request ${request.id}`, isDone };
}
