// npm run subgraph:dev: a graph-node on this machine that follows a local chain.
import { setTimeout as sleep } from "node:timers/promises";
import { createPublicClient, http, type PublicClient } from "viem";
import { LOCAL_CHAIN, LOCAL_RPC } from "../../agents/cli/shared/chain-source.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { endedBy, scriptCommand } from "../../scripts/shared/arguments.ts";
import { EXIT_INTERRUPTED, abortOnSignals } from "../../scripts/shared/interrupt.ts";
import { progress } from "../../scripts/shared/progress.ts";
import { NO_GRAPH_NODE, findGraphNode } from "../../scripts/subgraph/build.ts";
import { readDeploymentFile } from "../../scripts/subgraph/deployment-file.ts";
import { startGraphNode, type GraphNode } from "./graph-node.ts";

const FOLLOW_MS = 1_000;
const COMPOSE = "deploy/docker-compose.yml";

const { deployment, rpc } = scriptCommand(
  "subgraph:dev",
  "Run graph-node (linux-x64, development only) with a new database until Ctrl-C, and follow a local chain.",
)
  .option(
    "--deployment <file>",
    "as npm run deploy, conclave dev or the demo writes it",
    process.env["CONCLAVE_DEPLOYMENT"],
  )
  .option(
    "--rpc <url>",
    `HTTP JSON-RPC of the chain; by default the one in the file, or ${LOCAL_RPC} for a local chain`,
  )
  .addHelpText(
    "after",
    "\nExample, beside a running demo:\n  $ npm run subgraph:dev -- --deployment /tmp/conclave-demo-x/deployment.json",
  )
  .parse()
  .opts<{ readonly deployment?: string; readonly rpc?: string }>();

try {
  await serve();
} catch (error) {
  process.exitCode = endedBy(error);
}

async function serve(): Promise<void> {
  if (deployment === undefined)
    throw new ConclaveError("USAGE", "Name a --deployment: `npm run demo -- --keep` starts a chain and prints one", {
      field: "deployment",
    });
  const deployed = await readDeploymentFile(deployment);
  const url = rpc ?? deployed.rpcUrl ?? (deployed.chainId === LOCAL_CHAIN ? LOCAL_RPC : undefined);
  if (url === undefined) throw new Error(`Find the chain: ${deployment} has no rpcUrl; name it with --rpc`);
  if (findGraphNode() === null) throw new Error(`${NO_GRAPH_NODE} See ${COMPOSE}.`);
  const client = createPublicClient({ transport: http(url) });
  const chainId = await client.getChainId();
  if (chainId !== deployed.chainId) throw new Error(`Follow ${url}: it is chain ${chainId}, not ${deployed.chainId}`);

  const abort = abortOnSignals();
  progress("building the subgraph, starting PostgreSQL and graph-node");
  try {
    const node = await startGraphNode(url, deployed, abort.signal);
    try {
      await follow(node, client, abort.signal);
    } finally {
      progress("stopping");
      await node.stop();
    }
  } catch (error) {
    if (!abort.signal.aborted) throw error;
    process.exitCode = EXIT_INTERRUPTED;
  }
}

/** Follows the chain until it is aborted; throws if indexing fails or the chain begins anew. */
async function follow(node: GraphNode, client: PublicClient, signal: AbortSignal): Promise<never> {
  let isSynced = false;
  for (;;) {
    const [{ block, failure }, head] = await Promise.all([node.status(), client.getBlockNumber({ cacheTime: 0 })]);
    if (failure !== null) throw new Error(`Index block ${block + 1}: ${failure}`);
    if (BigInt(block) > head + 1n) throw new Error(`Follow the chain: it began anew (block ${head}); start again`);
    if (!isSynced) progress(`block ${block} of ${head}`);
    if (!isSynced && BigInt(block) >= head) {
      isSynced = true;
      progress(`in step with the chain; ports ${node.openPorts.join(", ")} are open on every address of this machine`);
      process.stdout.write(`${node.queryUrl}\n`);
    }
    await sleep(FOLLOW_MS, undefined, { signal });
  }
}
