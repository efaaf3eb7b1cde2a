// Runs the real graph-node with a database of its own; it follows one chain until it is stopped.
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { spawnGuarded, type GuardedChild } from "../../scripts/shared/guarded-child.ts";
import { NO_GRAPH_NODE, buildFor, findGraphNode } from "../../scripts/subgraph/build.ts";
import { LOCAL_NETWORK, type Deployed } from "../../scripts/subgraph/manifest.ts";
import { freePort } from "./ports.ts";
import { startPostgres } from "./postgres.ts";
import { listenOnLoopback } from "../../scripts/shared/loopback.ts";

export interface GraphNode {
  /** URL that takes GraphQL queries. */
  readonly queryUrl: string;
  /**
   * Ports that graph-node opens on every address of this machine, the administrator's among them. It has no option
   * for that.
   */
  readonly openPorts: readonly number[];
  status(): Promise<IndexingStatus>;
  /** Resolves when this block is indexed. Rejects if indexing fails, or on abort. */
  synced(block: number, options: SyncOptions): Promise<IndexingStatus>;
  /** Bytes of the database on the disk. */
  databaseBytes(): Promise<number>;
  /** Idempotent; removes the database. */
  stop(): Promise<void>;
}

export interface SyncOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: (status: IndexingStatus) => void;
}

export interface IndexingStatus {
  /** Newest block whose events are in the answers; -1 before the first. */
  readonly block: number;
  /** Reason why indexing stopped; null while it runs. */
  readonly failure: string | null;
}

const START_TIMEOUT_MS = 600_000;
const POLL_MS = 200;
/** Last lines of its log, for an error message. */
const KEPT_LINES = 30;

/**
 * Starts PostgreSQL and graph-node, and resolves when graph-node answers. Both end with this process, however it
 * ends.
 */
export async function startGraphNode(rpcUrl: string, deployed: Deployed, signal: AbortSignal): Promise<GraphNode> {
  const gnd = findGraphNode();
  if (gnd === null) throw new Error(`Start graph-node: ${NO_GRAPH_NODE}`);
  const directory = await mkdtemp(join(tmpdir(), "conclave-subgraph-"));
  const cleanups: (() => Promise<void>)[] = [() => rm(directory, { recursive: true, force: true, maxRetries: 5 })];
  const stop = async (): Promise<void> => {
    for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) await cleanup();
  };
  try {
    await buildFor(deployed, LOCAL_NETWORK, join(directory, "build"), signal);
    const postgres = await startPostgres(directory);
    cleanups.push(() => postgres.stop());
    const ipfs = await startIpfsStub();
    cleanups.push(() => ipfs.stop());
    signal.throwIfAborted();
    const ports = {
      query: await freePort(),
      status: await freePort(),
      admin: await freePort(),
      metrics: await freePort(),
    };
    const child = spawnGraphNode(gnd, { directory, rpcUrl, postgresUrl: postgres.url, ipfsUrl: ipfs.url, ports });
    cleanups.push(() => child.stop());
    const statusUrl = `http://127.0.0.1:${ports.status}/graphql`;
    const log = keepLog(child);
    const node: GraphNode = {
      queryUrl: `http://127.0.0.1:${ports.query}/subgraphs/name/${SUBGRAPH}`,
      openPorts: Object.values(ports),
      status: () => readStatus(statusUrl),
      synced: (block, options) => waitFor(node, block, options),
      databaseBytes: () => postgres.diskBytes(),
      stop,
    };
    await waitUntilUp(node, child, log, signal);
    return node;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Name that gnd gives its only subgraph. */
const SUBGRAPH = "subgraph-0";

interface Setup {
  readonly directory: string;
  readonly rpcUrl: string;
  readonly postgresUrl: string;
  readonly ipfsUrl: string;
  readonly ports: Readonly<Record<"query" | "status" | "admin" | "metrics", number>>;
}

function spawnGraphNode(gnd: string, { directory, rpcUrl, postgresUrl, ipfsUrl, ports }: Setup): GuardedChild {
  const args = [
    ["dev", "--manifests", "build/subgraph.yaml:.", "--database-dir", directory, "--postgres-url", postgresUrl],
    ["--ethereum-rpc", `${LOCAL_NETWORK}:${rpcUrl}`, "--ipfs", ipfsUrl],
    ["--http-port", String(ports.query), "--index-node-port", String(ports.status)],
    ["--admin-port", String(ports.admin), "--metrics-port", String(ports.metrics)],
  ].flat();
  const env = {
    ...process.env,
    // A short interval, because a local chain can make a block at any time.
    ETHEREUM_POLLING_INTERVAL: "100",
    // With RUST_BACKTRACE=1 in the environment it would spend most of its time on traces of errors that nobody reads.
    RUST_LIB_BACKTRACE: "0",
    GRAPH_LOG: process.env["GRAPH_LOG"] ?? "info",
  };
  return spawnGuarded(gnd, args, { signal: "INT", output: ["pipe", "pipe"], cwd: directory, env });
}

/** Collects the end of its output on both streams. */
function keepLog({ process: { stdout, stderr } }: GuardedChild): readonly string[] {
  const kept: string[] = [];
  for (const stream of [stdout, stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on("line", (line) => {
      if (process.env["GRAPH_LOG"] !== undefined) process.stderr.write(`${line}\n`);
      kept.push(line);
      if (kept.length > KEPT_LINES) kept.shift();
    });
  }
  return kept;
}

async function waitUntilUp(
  node: GraphNode,
  child: GuardedChild,
  log: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(START_TIMEOUT_MS)]);
  for (;;) {
    if (child.process.exitCode !== null) throw new Error(`Start graph-node: it ended.\n${log.join("\n")}`);
    try {
      const { failure } = await node.status();
      if (failure === null) return;
      throw new Error(`Start graph-node: indexing failed with "${failure}"`);
    } catch (error) {
      if (limit.aborted && !signal.aborted)
        throw new Error(`Start graph-node: it is not ready after ${START_TIMEOUT_MS / 1000} s.\n${log.join("\n")}`, {
          cause: error,
        });
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function waitFor(node: GraphNode, block: number, { signal, onProgress }: SyncOptions): Promise<IndexingStatus> {
  for (;;) {
    signal.throwIfAborted();
    const status = await node.status();
    onProgress?.(status);
    if (status.failure !== null) throw new Error(`Index block ${status.block + 1}: ${status.failure}`);
    if (status.block >= block) return status;
    await sleep(POLL_MS, undefined, { signal });
  }
}

const STATUS_QUERY = `{ indexingStatuses { health fatalError { message } chains { latestBlock { number } } } }`;

interface StatusAnswer {
  readonly indexingStatuses: readonly {
    readonly fatalError: { readonly message: string } | null;
    readonly chains: readonly { readonly latestBlock: { readonly number: string } | null }[];
  }[];
}

async function readStatus(url: string): Promise<IndexingStatus> {
  const { indexingStatuses } = await postQuery<StatusAnswer>(url, STATUS_QUERY);
  const [status] = indexingStatuses;
  if (status === undefined) throw new Error("Read graph-node's status: it has no subgraph yet");
  return {
    block: Number(status.chains[0]?.latestBlock?.number ?? -1),
    failure: status.fatalError?.message ?? null,
  };
}

/** Posts a GraphQL query. Throws if the answer has errors. */
export async function postQuery<Data>(
  url: string,
  query: string,
  variables: object = {},
  signal?: AbortSignal,
): Promise<Data> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
    ...(signal === undefined ? {} : { signal }),
  });
  const { data, errors } = (await response.json()) as { readonly data?: Data; readonly errors?: readonly object[] };
  if (errors !== undefined || data === undefined || data === null)
    throw new Error(`Query ${url}: ${JSON.stringify(errors ?? response.status)}`);
  return data;
}

/**
 * Starts a stand-in for an IPFS server. graph-node asks for its version once and for nothing else, because the
 * subgraph's files lie beside it.
 */
async function startIpfsStub(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    const known = request.url?.startsWith("/api/v0/version") === true;
    response.writeHead(known ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(known ? { Version: "0.30.0", Commit: "", Repo: "15" } : { Message: "not found" }));
  });
  const { url, close } = await listenOnLoopback(server);
  return {
    url,
    stop: close,
  };
}
