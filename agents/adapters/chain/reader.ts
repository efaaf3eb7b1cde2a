import { numberToHex } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import type { RequestId } from "../../core/types.ts";
import { REQUEST_STATUSES, type ChainEvent, type RequestState } from "../../core/request/events.ts";
import type { ChainReader } from "../../ports/chain.ts";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import { createAgentIndex } from "./agent-index.ts";
import { readCommittee, readSeedWindow, oldestSeedAt } from "./committee.ts";
import { connect, type ChainOptions, type Connection } from "./connection.ts";
import { decodeLog } from "./decode.ts";
import { follow, type Logger } from "./follow.ts";
import { readHead } from "./head.ts";
import { RANGE_OF_FEW, rangeSize, scanLogs } from "./logs.ts";
import { findBySigner } from "./registry.ts";

export interface ReaderOptions extends ChainOptions {
  /** Blocks on top of a block before `follow` delivers it; 0 delivers the newest. */
  readonly finalityDepth: number;
  readonly pollIntervalMs: number;
  readonly logger?: Logger;
}

/** Connects to a node over HTTP JSON-RPC. Throws CHAIN_UNREACHABLE, CHAIN_WRONG_ID or CHAIN_NO_CONTRACT. */
export async function createChainReader(options: ReaderOptions, startSignal?: AbortSignal): Promise<ChainReader> {
  return chainReaderOf(await connect(options, startSignal), options, startSignal);
}

/** Creates a reader over a connection. Throws CHAIN_UNREACHABLE. */
export async function chainReaderOf(
  connection: Connection,
  options: Pick<ReaderOptions, "finalityDepth" | "pollIntervalMs" | "logger">,
  startSignal?: AbortSignal,
): Promise<ChainReader> {
  const agentsAt = createAgentIndex(connection, options.finalityDepth);
  const { finalityDepth, pollIntervalMs, logger } = options;
  const seedWindow = await readSeedWindow(connection, startSignal);

  return {
    domain: connection.domain,
    head: async (signal) => {
      const { number, timestamp } = await readHead(connection, signal);
      return { number, timestamp, oldestSeed: oldestSeedAt(number, seedWindow) };
    },
    follow: (...parameters) => follow(connection, { finalityDepth, pollIntervalMs, logger }, parameters),
    requestEvents: (requestId, signal) => readRequestEvents(connection, requestId, signal),
    eventsIn: async (requestId, blocks, signal) => {
      const size = rangeSize(1n);
      const found: ChainEvent[] = [];
      for (const block of new Set(blocks))
        found.push(...(await readEventsOf(connection, requestId, { from: block, to: block, size }, signal)));
      return found;
    },
    requestState: (requestId, signal) => readRequestState(connection, requestId, signal),
    committee: (request, awaited, signal) => readCommittee(connection, request, awaited, signal),
    agents: async (signal) => [...(await agentsAt(signal)).values()],
    agentBySigner: async (signer, signal) => findBySigner(await agentsAt(signal), signer),
  };
}

export async function readRequestState(
  connection: Connection,
  requestId: RequestId,
  signal?: AbortSignal,
): Promise<RequestState> {
  const [status, attempt, provisional, callbackPending, settled] = await connection.call(
    `Read request ${requestId}`,
    signal,
    (client) =>
      client.readContract({
        address: connection.domain.oracle,
        abi: decisionOracleAbi,
        functionName: "statusOf",
        args: [requestId],
      }),
  );
  return { status: REQUEST_STATUSES[status] ?? "none", attempt, provisional, callbackPending, settled };
}

async function readRequestEvents(
  connection: Connection,
  requestId: RequestId,
  signal?: AbortSignal,
): Promise<readonly ChainEvent[]> {
  const { number } = await readHead(connection, signal);
  const range = { from: connection.deploymentBlock, to: number, size: rangeSize(RANGE_OF_FEW) };
  const own = await readEventsOf(connection, requestId, range, signal);
  if (own.length > 0) return own;
  throw new ConclaveError(
    "REQUEST_UNKNOWN",
    `Find request ${requestId}: the oracle has no usable request of that number; check the id and the oracle's address`,
    {
      requestId: String(requestId),
    },
  );
}

/** Reads the usable events of one request in a range of blocks. */
export async function readEventsOf(
  connection: Connection,
  requestId: RequestId,
  range: Parameters<typeof scanLogs>[2],
  signal?: AbortSignal,
): Promise<readonly ChainEvent[]> {
  const { oracle } = connection.domain;
  const query = { address: [oracle], topics: [null, numberToHex(requestId, { size: 32 })] };
  const logs = await scanLogs(connection, query, range, signal);
  const events = logs.flatMap((log) => {
    const decoded = decodeLog(log, oracle, connection.registry);
    return decoded.kind === "event" ? [decoded.event] : [];
  });
  // Other events of the oracle have an address in this topic, and no request id is that large.
  return events.filter((event) => requestIdOf(event) === requestId);
}

function requestIdOf(event: ChainEvent): RequestId | null {
  switch (event.kind) {
    case "requested":
      return event.request.id;
    case "agentsChanged":
      return null;
    default:
      return event.requestId;
  }
}
