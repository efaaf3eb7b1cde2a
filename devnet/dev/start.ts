// Starts the world of `conclave dev`, or goes on with the one that a directory keeps.
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPublicClient, http, parseEther } from "viem";
import { agentRegistryAbi } from "@conclave/contracts/abi";
import { createOperatorActions } from "../../agents/adapters/chain/operator.ts";
import { createKeystore } from "../../agents/adapters/keystore/keystore.ts";
import { MOST_GATEWAYS, readDashboard } from "../../agents/adapters/dashboard/dashboard.ts";
import { startGateway } from "../../agents/adapters/ipfs/gateway.ts";
import { storeFolder } from "../../agents/cli/shared/config.ts";
import type { SourcesConfig } from "../../agents/adapters/source-reader/config.ts";
import { keysFromPrivateKey } from "../../agents/adapters/keystore/keys.ts";
import { ConclaveError, messageOf } from "../../agents/core/errors.ts";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { contracts, type Deployment } from "../../scripts/deploy/settings.ts";
import { areFresh } from "../../agents/adapters/artifacts/artifacts.ts";
import type { Address, AgentId, Hex } from "../../agents/core/types.ts";
import { UNBOUNDED } from "../../agents/ports/chain.ts";
import { startLocalChain, type LocalChain } from "../local-chain.ts";
import { startGraphNode } from "../subgraph/graph-node.ts";
import { freePort } from "../subgraph/ports.ts";
import type { WorldAgent } from "../world/agents.ts";
import { worldModel, type WorldModel } from "../world/model.ts";
import {
  deployWorld,
  deploymentFileIn,
  isOpen,
  reopenWorld,
  startAgents,
  writeDeployment,
  type World,
} from "../world/world.ts";
import { openAllBlocks } from "./blocks.ts";
import { beginWorld, invalid, keepWorld, readKept, STATE_FILE, takeFolder, type Kept } from "./folder.ts";

export interface DevOptions {
  /** Null: a temporary directory, which `stop` removes. */
  readonly directory: string | null;
  /** TCP port of the chain, from which the others follow; 0 takes free ones. */
  readonly port: number;
  readonly blockTimeSeconds: number;
  /** Null: as many as the directory keeps, else `DEFAULT_AGENTS`. */
  readonly agents: number | null;
  readonly liar: boolean;
  /** Path of a model; null: the one that the directory keeps, else the repository's. */
  readonly model: string | null;
  /** How all agents read what questions name; null: by the defaults of an agent's config. */
  readonly sources: SourcesConfig | null;
  readonly subgraph: boolean;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/** What an application needs to know of the world. */
export interface DevFacts {
  readonly rpcUrl: string;
  readonly deployment: Deployment;
  readonly deploymentFile: string;
  /** URLs of the agents' gateways. Each agent has the transcripts of its own committees. */
  readonly gateways: readonly string[];
  /** URLs of the agents' live streams. */
  readonly live: readonly string[];
  /** Null without --subgraph. */
  readonly subgraphUrl: string | null;
  /** URL of the dashboard; null if it is not built. */
  readonly pageUrl: string | null;
  readonly asker: Asker;
  readonly model: Pick<WorldModel, "name" | "knowsAnswers">;
  /** How long a committee has to decide, in seconds: at the end of the epoch after its seed's it is over (SE8). */
  readonly committeeSeconds: { readonly least: number; readonly most: number };
  readonly agents: readonly {
    readonly agentId: AgentId;
    readonly operator: Address;
    readonly directory: string;
    readonly lies: boolean;
  }[];
}

/** An account with coins and tokens, and with a subscription from which it may ask. Its key is public: it is worth nothing on any other chain. */
export interface Asker {
  readonly address: Address;
  readonly privateKey: Hex;
  readonly keystore: string;
  readonly passwordFile: string;
  readonly subscriptionId: number;
}

export interface DevWorld {
  readonly facts: DevFacts;
  /** Resolves when every agent listens. Questions are taken before, and wait for the agents. */
  serving(): Promise<void>;
  /** Stops all of it, and removes a temporary directory. Idempotent. */
  stop(): Promise<void>;
}

export const DEFAULT_AGENTS = 5;
/** Protects keys of a chain that nobody else reaches. */
const PASSWORD = "conclave dev";
/** A fast key derivation is enough for a public key. */
const SCRYPT_N = 4096;
const TOKENS = parseEther("1000000");
const PREPAID = parseEther("100000");
const UNBOUNDED_FEES = { token: UNBOUNDED, native: UNBOUNDED };
/** The first subscription of the oracle. */
const SUBSCRIPTION = 1;
/** Distances of the dashboard's port and of the agents' first ports from the chain's: an agent has one for its gateway, then one for its live stream. */
const DASHBOARD_PORT = 5;
const AGENT_PORTS = 6;
const DASHBOARD = join(import.meta.dirname, "../../dashboard/dist");

/** Throws NETWORK_FAILED if a port is taken, and CONFIG_INVALID if the directory keeps another world. */
export async function startDevWorld(options: DevOptions): Promise<DevWorld> {
  const cleanups: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop())
      await cleanup().catch((error: unknown) => options.progress(`clean-up: ${String(error)}`));
  };
  try {
    return { ...(await start(options, cleanups)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(options: DevOptions, cleanups: (() => Promise<void>)[]): Promise<Omit<DevWorld, "stop">> {
  const { signal, progress, sources } = options;
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "conclave-dev-")));
  if (options.directory === null) cleanups.push(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  else cleanups.push(await takeFolder(directory));
  const kept = await readKept(directory);
  const settled = agreed(options, kept, directory);
  const model = worldModel(settled.model ?? undefined);
  const ports = await portsFrom(options.port, settled.agents);
  const orDamaged = (what: string) => (error: unknown) => {
    if (kept === null || signal.aborted) throw error;
    throw invalid(directory, `${what} (${messageOf(error)}); start it again, or remove the folder`);
  };

  if (kept === null) await beginWorld(directory, progress);
  if (kept === null && !(await areFresh(Object.values(contracts), "default")))
    progress("compiling the contracts (first run only), which may take minutes");
  progress(kept === null ? "starting a local chain and deploying the contracts" : `going on with ${directory}`);
  const chain = await startLocalChain({
    blockTimeSeconds: options.blockTimeSeconds,
    port: options.port,
    ...(options.directory === null ? {} : { stateFile: join(directory, STATE_FILE) }),
  }).catch(orDamaged(`its chain does not go on from ${STATE_FILE}`));
  cleanups.push(() => chain.stop());
  const world = await (kept === null
    ? deployWorld(chain, directory, { epochBlocks: model.pace.epochBlocks })
    : reopenWorld(chain, directory).catch(orDamaged(`${deploymentFileIn("")} names no contracts of its chain`)));
  signal.throwIfAborted();

  progress(`the chain is at ${chain.rpcUrl}; starting ${settled.agents} agents with the model ${model.name}`);
  const running = await startAgents(world, {
    directory,
    password: PASSWORD,
    model,
    count: settled.agents,
    liar: settled.liar,
    gateways: ports.map(({ gateway }) => `127.0.0.1:${gateway}`),
    livePorts: ports.map(({ live }) => live),
    ...(sources === null ? {} : { sources: ports.map(() => sources) }),
    known: kept !== null,
    signal,
    progress,
  }).catch(orDamaged("one of its agents is damaged"));
  cleanups.push(() => running.stop());
  const asker = await openAsker(world, directory, kept !== null);
  if (kept === null) {
    await chain.nextEpoch(model.pace.epochBlocks);
    await keepWorld(directory, settled);
  }
  const gateways = ports.map(({ gateway }) => `http://127.0.0.1:${gateway}`);
  const live = ports.map((port) => `http://127.0.0.1:${port.live}`);
  const subgraphUrl = options.subgraph ? await openSubgraph(world, options, cleanups) : null;
  const more = { gateways, ...(subgraphUrl === null ? {} : { subgraphUrl }) };
  await writeDeployment(world, more);
  const dashboardPort = options.port === 0 ? 0 : options.port + DASHBOARD_PORT;
  const facts = {
    pageUrl: await openDashboard(
      world,
      { ...more, live, burnerKey: asker.privateKey },
      running.agents.map((agent) => storeFolder({ dataDir: join(agent.directory, "data") })),
      dashboardPort,
      cleanups,
    ),
    rpcUrl: chain.rpcUrl,
    deployment: world.deployment,
    deploymentFile: world.deploymentFile,
    gateways,
    live,
    subgraphUrl,
    asker,
    model: { name: model.name, knowsAnswers: model.knowsAnswers },
    committeeSeconds: await committeeSecondsOf(world, options.blockTimeSeconds),
    agents: byNumber(running.agents),
  };
  return { facts, serving: running.ready };
}

function byNumber(agents: readonly WorldAgent[]): DevFacts["agents"] {
  return agents
    .map(({ agentId, keys, directory, lies }) => ({ agentId, operator: keys.address, directory, lies }))
    .toSorted((one, other) => one.agentId - other.agentId);
}

/** SE8: from the last block of an epoch to the end of the next one, or from the first. A world that was kept has its own epochs. */
async function committeeSecondsOf(
  { chain, deployment }: World,
  blockTimeSeconds: number,
): Promise<DevFacts["committeeSeconds"]> {
  const client = createPublicClient({ transport: http(chain.rpcUrl) });
  const place = { address: deployment.registry, abi: agentRegistryAbi } as const;
  const blocks = Number(await client.readContract({ ...place, functionName: "epochBlocks" }));
  return { least: Math.floor(blocks * blockTimeSeconds), most: Math.floor(2 * blocks * blockTimeSeconds) };
}

/** Returns how many agents there are, whether one lies, and which model they have: as the directory has it, which flags may not contradict. */
function agreed({ agents, liar, model }: DevOptions, kept: Kept | null, directory: string): Kept {
  if (kept === null) return { agents: agents ?? DEFAULT_AGENTS, liar, model };
  if (agents !== null && agents !== kept.agents)
    throw invalid(directory, `it has ${kept.agents} agents; leave out --agents, or name another --dir`);
  if (model !== null && model !== kept.model) {
    const has = kept.model === null ? "the repository's model" : `the model ${kept.model}`;
    throw invalid(directory, `its agents are registered with ${has}; leave out --model, or name another --dir`);
  }
  if (liar && !kept.liar) throw invalid(directory, "its agents are honest; leave out --liar, or name another --dir");
  return kept;
}

interface AgentPorts {
  readonly gateway: number;
  readonly live: number;
}

/** Returns the agents' ports. Throws NETWORK_FAILED if one of them or the chain's is taken. */
async function portsFrom(chainPort: number, count: number): Promise<readonly AgentPorts[]> {
  const indexes = Array.from({ length: count }, (_, index) => index);
  if (chainPort === 0)
    return Promise.all(indexes.map(async () => ({ gateway: await freePort(), live: await freePort() })));
  const ports = indexes.map((index) => {
    const gateway = chainPort + AGENT_PORTS + index;
    return { gateway, live: gateway + count };
  });
  for (const port of [chainPort, chainPort + DASHBOARD_PORT, ...ports.flatMap(({ gateway, live }) => [gateway, live])])
    if (await isOpen(port))
      throw new ConclaveError(
        "NETWORK_FAILED",
        `Start the world: somebody listens on port ${port} of 127.0.0.1 already; stop that, or choose another --port (0 takes free ones)`,
        { field: "--port", port },
      );
  return ports;
}

/** Opens the second account of the chain for whoever writes an application. */
async function openAsker({ chain, deployment, bank }: World, directory: string, known: boolean): Promise<Asker> {
  const { address, privateKey } = accountOf(chain);
  const keystore = join(directory, "asker.json");
  const passwordFile = join(directory, "password");
  const asker = { address, privateKey, keystore, passwordFile, subscriptionId: SUBSCRIPTION };
  if (known) return asker;
  await writeFile(passwordFile, `${PASSWORD}\n`);
  const keys = await createKeystore(keystore, PASSWORD, { scryptN: SCRYPT_N, privateKey: hexToBytes(privateKey) });
  await bank.mint(address, TOKENS);
  const { chainId, oracle, registry } = deployment;
  const place = { rpcUrl: chain.rpcUrl, chainId, oracle, registry, receiptPollMs: 100 };
  const actions = await createOperatorActions({ ...place, account: keys.viemAccount() });
  const { subscriptionId } = await actions.createSubscription();
  await actions.fund(subscriptionId, "token", PREPAID);
  await actions.setConsumer(subscriptionId, address, UNBOUNDED_FEES);
  return { ...asker, subscriptionId };
}

function accountOf({ accounts }: LocalChain): { readonly address: Address; readonly privateKey: Hex } {
  const [, second] = accounts;
  if (second === undefined) throw new Error("Find the asker: the chain has one account");
  return { address: keysFromPrivateKey(hexToBytes(second.privateKey)).address, privateKey: second.privateKey };
}

async function openSubgraph(
  { chain, deployment }: World,
  { signal, progress }: DevOptions,
  cleanups: (() => Promise<void>)[],
): Promise<string> {
  progress("building the subgraph, starting PostgreSQL and graph-node");
  const node = await startGraphNode(chain.rpcUrl, deployment, signal);
  cleanups.push(() => node.stop());
  return node.queryUrl;
}

/**
 * Serves the dashboard with the asker's account in it, and the blocks of all agents, of whose gateways it asks only some;
 * null if the dashboard is not built.
 */
async function openDashboard(
  { chain, deployment }: World,
  more: {
    readonly gateways: readonly string[];
    readonly live: readonly string[];
    readonly subgraphUrl?: string;
    readonly burnerKey: Hex;
  },
  folders: readonly string[],
  port: number,
  cleanups: (() => Promise<void>)[],
): Promise<string | null> {
  if (!existsSync(DASHBOARD)) return null;
  const { chainId, oracle, registry, deploymentBlock } = deployment;
  const place = { rpcUrl: chain.rpcUrl, chainId, oracle, registry, deploymentBlock };
  const config = (host: string): object => ({
    ...place,
    ...more,
    gateways: [`http://${host}`, ...more.gateways].slice(0, MOST_GATEWAYS),
  });
  const dashboard = await readDashboard(DASHBOARD, { config, isLocal: true });
  const store = await openAllBlocks(folders);
  cleanups.push(() => store.close());
  const server = await startGateway({ store, host: "127.0.0.1", port, others: dashboard.answer });
  cleanups.push(() => server.close());
  return `${server.url}/`;
}
