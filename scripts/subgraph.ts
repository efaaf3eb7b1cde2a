// npm run subgraph:build, subgraph:dev, subgraph:bench: the history of a deployment, compiled for The Graph, or served by a graph-node on this machine.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createPublicClient, http, type PublicClient } from "viem";
import { EXIT_USAGE, between, scriptCommand } from "./shared/arguments.ts";
import { benchSubgraph } from "../lab/subgraph/bench.ts";
import { NO_GRAPH_NODE, buildFor, findGraphNode } from "./subgraph/build.ts";
import { startGraphNode, type GraphNode } from "../devnet/subgraph/graph-node.ts";
import type { Deployed } from "./subgraph/manifest.ts";

interface DeploymentFile extends Deployed {
  readonly chainId: number;
  readonly rpcUrl?: string;
}

const EXIT_INTERRUPTED = 130;
const FOLLOW_MS = 1_000;
const COMPOSE = "deploy/docker-compose.yml";

const started = Date.now();
const progress = (line: string): void =>
  void process.stderr.write(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);

const program = scriptCommand("subgraph", "The history of a deployment for The Graph.");

program
  .command("build")
  .description(
    "Compile the subgraph; with a deployment, into a folder that can be deployed to a graph-node. Needs no network.",
  )
  .option("--deployment <file>", "where the contracts are, as `npm run deploy` writes it")
  .option("--network <name>", "the chain's name at the graph-node", "mainnet")
  .option("--out <folder>", "must not exist", "subgraph-build")
  .addHelpText(
    "after",
    "\nExample:\n  $ npm run subgraph:build -- --deployment deployments/11155111.json --network sepolia",
  )
  .action(build);

program
  .command("dev")
  .description(
    "Run graph-node (linux-x64, development only) with a new database until Ctrl-C, and follow a local chain.",
  )
  .option("--deployment <file>", "as `npm run demo -- --keep` prints it", process.env["CONCLAVE_DEPLOYMENT"])
  .option("--rpc-url <url>", "of the chain; by default the one in the file")
  .addHelpText(
    "after",
    "\nExample, beside a running demo:\n  $ npm run subgraph:dev -- --deployment /tmp/conclave-demo-x/deployment.json",
  )
  .action(dev);

program
  .command("bench")
  .description("Play an economy, index it with graph-node, compare every entity; speed and memory (linux-x64).")
  .option("--requests <count>", "4 to 10,000", between(4, 10_000), 2_000)
  .option("--operators <count>", "22 to 200", between(22, 200), 40)
  .option("--seed <number>", "the same seed gives the same economy", between(0, 999_999_999), 1)
  .option("--json", "print one JSON object")
  .addHelpText(
    "after",
    "\nExample, a quarter of an hour on an idle machine:\n  $ npm run subgraph:bench -- --requests 2000",
  )
  .action(bench);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode ||= 1;
}

async function build({
  deployment,
  network,
  out,
}: {
  deployment?: string;
  network: string;
  out: string;
}): Promise<void> {
  if (existsSync(out)) throw new Error(`Build into ${out}: it exists already`);
  const deployed = deployment === undefined ? null : await readDeployment(deployment);
  await buildFor(deployed, network, out);
  progress(`${out}/subgraph.yaml is ready${deployed === null ? "; its addresses are 0: name a --deployment" : ""}`);
}

async function dev({ deployment, rpcUrl }: { deployment?: string; rpcUrl?: string }): Promise<void> {
  if (findGraphNode() === null) throw new Error(`${NO_GRAPH_NODE} See ${COMPOSE}.`);
  if (deployment === undefined) {
    process.exitCode = EXIT_USAGE;
    throw new Error("Name a --deployment: `npm run demo -- --keep` starts a chain and prints one");
  }
  const deployed = await readDeployment(deployment);
  const url = rpcUrl ?? deployed.rpcUrl;
  if (url === undefined) throw new Error(`Find the chain: ${deployment} has no rpcUrl; name it with --rpc-url`);
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

async function bench({
  requests,
  operators,
  seed,
  json,
}: {
  requests: number;
  operators: number;
  seed: number;
  json?: true;
}): Promise<void> {
  if (findGraphNode() === null) throw new Error(NO_GRAPH_NODE);
  const { signal } = abortOnSignals();
  const result = await benchSubgraph({ requests, operators, seed, signal, progress }).catch((error: unknown) => {
    if (signal.aborted) process.exitCode = EXIT_INTERRUPTED;
    throw error;
  });
  const { blocks, events, entities, indexSeconds, eventsPerSecond, graphNodeMiB, postgresMiB } = result;
  const text = `${requests} requests: ${events} events in ${blocks} blocks, ${entities} entities
indexed in ${indexSeconds.toFixed(1)} s: ${eventsPerSecond.toFixed(0)} events per second; graph-node at most ${graphNodeMiB} MiB, PostgreSQL ${postgresMiB} MiB
${result.comparisons} values compared, ${result.differences.length} differences
`;
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : text);
  for (const difference of result.differences) progress(difference);
  if (result.differences.length > 0) process.exitCode = 1;
}

function abortOnSignals(): AbortController {
  const abort = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => abort.abort());
  return abort;
}

/** Until abort, or until indexing fails or the chain begins anew. */
async function follow(node: GraphNode, client: PublicClient, signal: AbortSignal): Promise<never> {
  let isSynced = false;
  for (;;) {
    const [{ block, fault }, head] = await Promise.all([node.status(), client.getBlockNumber({ cacheTime: 0 })]);
    if (fault !== null) throw new Error(`Index block ${block + 1}: ${fault}`);
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

async function readDeployment(file: string): Promise<DeploymentFile> {
  const found = JSON.parse(await readFile(file, "utf8")) as Partial<DeploymentFile>;
  for (const name of ["registry", "oracle", "settlement", "slasher", "deploymentBlock", "chainId"] as const)
    if (found[name] === undefined) throw new Error(`Read ${file}: it has no ${name}`);
  return found as DeploymentFile;
}
