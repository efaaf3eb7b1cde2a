import type { Connection } from "../../agents/adapters/chain/connection.ts";
import { lower } from "../../agents/adapters/chain/decode.ts";
import { recentHistoryOf } from "../../agents/adapters/chain/recent.ts";
import type { Indexed, Subgraph } from "../../agents/adapters/subgraph/subgraph.ts";
import { ConclaveError as CoreError } from "../../agents/core/errors.ts";
import type { AgentId, RequestId } from "../../agents/core/types.ts";
import type { AgentHistory, HistoryFilter, RequestMoney, RequestPage } from "../../agents/ports/history.ts";
import { ConclaveError, toSdkError } from "./errors.ts";
import { termsOf, type ProtocolId } from "./terms.ts";

export interface HistoryOptions {
  /** Requests of one page, 1 to 100; 20 if absent. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly cursor?: string;
  /** An agent that sat on a committee. */
  readonly agentId?: number;
  readonly consumer?: `0x${string}`;
  readonly protocol?: ProtocolId | number;
  readonly statuses?: HistoryFilter["statuses"];
  /** Unix seconds: asked at this time or later. */
  readonly since?: number;
  /** Unix seconds: asked at this time or before. */
  readonly until?: number;
  /** Without a subgraph: how many of the latest blocks are searched; 50,000 if absent. */
  readonly blocks?: number;
  readonly signal?: AbortSignal;
}

export interface HistoryPage extends RequestPage, Told {}

/** Where an answer about the past comes from. */
export interface Told {
  /** The chain knows only what happened in `blocks`; a subgraph's answer is not proven. */
  readonly source: "subgraph" | "chain";
  /** The last block that the answer knows. */
  readonly toBlock: number;
  /** Why the chain answers in the subgraph's place; null if the subgraph was not asked, or answers. */
  readonly subgraphError: ConclaveError | null;
}

/** A subgraph that does not answer, answers wrongly or has stopped. One of another deployment is a wrong address. */
const NO_ANSWER: ReadonlySet<string> = new Set(["SUBGRAPH_UNREACHABLE", "SUBGRAPH_FAILED", "SUBGRAPH_INVALID"]);

export const DEFAULT_LIMIT = 20;
export const DEFAULT_BLOCKS = 50_000;
const CHAIN_CURSOR = /^e-/;

/** Returns a page of requests, the newest first: from the subgraph, or from the chain's events where none answers. */
export async function readHistory(
  connection: Connection,
  subgraphUrl: string | undefined,
  options: HistoryOptions,
): Promise<HistoryPage> {
  const { cursor } = options;
  const { limit = DEFAULT_LIMIT } = options;
  const onChain = (subgraphError: ConclaveError | null): Promise<HistoryPage> =>
    fromChain(connection, limit, options, subgraphError);
  if (subgraphUrl === undefined || CHAIN_CURSOR.test(cursor ?? "")) return onChain(null);
  const indexed = fromSubgraph(connection, subgraphUrl, limit, options);
  // Only its own first page can be had from elsewhere: a cursor means nothing to another source.
  return cursor === undefined ? indexed.catch(unlessAway(onChain)) : indexed;
}

/** Asks the chain where the subgraph gives no answer. */
export function unlessAway<T>(onChain: (subgraphError: ConclaveError) => Promise<T>): (error: unknown) => Promise<T> {
  return (error) => {
    const told = toSdkError(error);
    if (told instanceof ConclaveError && NO_ANSWER.has(told.code)) return onChain(told);
    throw error;
  };
}

async function fromSubgraph(
  connection: Connection,
  url: string,
  limit: number,
  options: HistoryOptions,
): Promise<HistoryPage> {
  const page = { limit, cursor: options.cursor ?? null };
  const { answer, upTo } = await askSubgraph(connection, url, (subgraph) =>
    subgraph.requests(filterOf(options), page, signalOf(options)),
  );
  return { ...answer, source: "subgraph", toBlock: upTo.block, subgraphError: null };
}

/** Returns what happened to an agent, with at most `limit` entries in each list; null if the subgraph knows no such agent. */
export async function readAgentHistory(
  connection: Connection,
  url: string,
  agentId: number,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<AgentHistory | null> {
  const { answer } = await askSubgraph(connection, url, (subgraph) =>
    subgraph.agent(agentId as AgentId, limit, signalOf({ signal })),
  );
  return answer;
}

/** Returns who was paid what for a request; null if the subgraph does not know it. */
export async function readMoney(
  connection: Connection,
  url: string,
  requestId: bigint,
  signal: AbortSignal | undefined,
): Promise<RequestMoney | null> {
  const { answer } = await askSubgraph(connection, url, (subgraph) =>
    subgraph.money(requestId as RequestId, signalOf({ signal })),
  );
  return answer;
}

/** Throws SUBGRAPH_WRONG_CHAIN if the subgraph is another deployment's, and what `ask` throws. */
export async function askSubgraph<T>(
  { domain }: Connection,
  url: string,
  ask: (subgraph: Subgraph) => Promise<Indexed<T>>,
): Promise<Indexed<T>> {
  // Loaded when it is used: it brings a library that checks answers, which is larger than all the rest.
  const { openSubgraph } = await import("../../agents/adapters/subgraph/subgraph.ts");
  const indexed = await ask(openSubgraph({ url }));
  requireOwn(indexed.upTo.oracle, domain.oracle);
  return indexed;
}

function requireOwn(found: string | null, expected: string): void {
  if (found === null || found === expected) return;
  throw new CoreError(
    "SUBGRAPH_WRONG_CHAIN",
    `Read the history: the subgraph is that of the oracle ${found}, but the deployment's is ${expected}`,
    { field: "subgraphUrl", expected, found },
  );
}

async function fromChain(
  connection: Connection,
  limit: number,
  options: HistoryOptions,
  subgraphError: ConclaveError | null,
): Promise<HistoryPage> {
  const page = { limit, cursor: options.cursor ?? null };
  const window = { blocks: options.blocks ?? DEFAULT_BLOCKS, signal: signalOf(options) };
  const found = await recentHistoryOf(connection).requests(filterOf(options), page, window);
  const { requests, next, toBlock } = found;
  return { requests, next, source: "chain", toBlock, subgraphError };
}

function filterOf({ agentId, consumer, protocol, statuses, since, until }: HistoryOptions): HistoryFilter {
  return {
    agentId: (agentId ?? null) as HistoryFilter["agentId"],
    consumer: consumer === undefined ? null : lower(consumer),
    protocol: protocol === undefined ? null : termsOf({ kind: "boolean", protocol }).protocol,
    statuses: statuses ?? null,
    since: since ?? null,
    until: until ?? null,
  };
}

export function signalOf({ signal }: { readonly signal?: AbortSignal | undefined }): AbortSignal {
  return signal ?? new AbortController().signal;
}
