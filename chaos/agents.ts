// The agents of a run: real processes that an operator's command starts, with a harness around their ports, disks and nodes.
import { once } from "node:events";
import { spawn, type ChildProcess } from "node:child_process";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createPublicClient, createWalletClient, http } from "viem";
import { receiptOf } from "../agents/adapters/chain/receipt.ts";
import { freePort } from "../devnet/subgraph/ports.ts";
import { registerAgent, startAgent, stopProcess, type WorldAgent } from "../devnet/world/agents.ts";
import type { Deployment } from "../scripts/deploy/settings.ts";
import type { Control } from "./controls.ts";
import { controlOptions } from "./controls.ts";
import { openDisk, type Disk } from "./disk.ts";
import { startModelServer, type ModelServer } from "./model-server.ts";
import { FINALITY_DEPTH, type HARMS } from "./manifest.ts";
import { startRpcProxy, type RpcProxy } from "./rpc-proxy.ts";
import { startSourceServer, type SourceServer } from "./source-server.ts";

export const PASSWORD = "chaos";
const hostile = join(import.meta.dirname, "hostile.ts");
const withParent = join(import.meta.dirname, "../devnet/world/with-parent.ts");
const TEN_GWEI = 10n ** 10n;

export interface ChaosAgent extends WorldAgent {
  readonly rpc: RpcProxy;
  readonly model: ModelServer;
  readonly sources: SourceServer;
  /** Holds the data directory. */
  readonly disk: Disk;
  /** Multiaddr at which the others reach it. */
  readonly address: string;
  /** True while its own process runs, or one that means harm in its place. */
  isRunning(): boolean;
  /** All processes that use its key. */
  pids(): readonly number[];
  start(): void;
  kill(): Promise<void>;
  /** Ends it in order. */
  stop(): Promise<void>;
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  /** Starts a second process for the folder, and returns its exit code; null if it still runs after the time. */
  serveTwice(timeoutMs: number): Promise<number | null>;
  /** Starts a process that harms the addresses under the agent's key. The agent must not run. */
  harm(how: (typeof HARMS)[number], addresses: readonly string[]): void;
  /** Starts a process that serves in the agent's place, lies, and signs two things for one place. The agent must not run. */
  equivocate(): void;
  /** Ends such a process. */
  disarm(): Promise<void>;
  /** Uses the next nonce of the agent's account. */
  stealNonce(): Promise<void>;
  /** Starts of its process so far. */
  lives(): number;
  close(): Promise<void>;
}

export interface AgentPlan {
  readonly directory: string;
  /** URL of the chain without any fault. */
  readonly rpcUrl: string;
  readonly deployment: Deployment;
  readonly stake: bigint;
  readonly control: Control | null;
  /** True if its data directory is a disk of its own, where this machine lets the harness mount one. */
  readonly ownDisk: boolean;
  readonly fund: (address: WorldAgent["keys"]) => Promise<void>;
  /** Returns the multiaddr at which the others reach the port. */
  readonly reach: (port: number) => Promise<string>;
}

export async function createChaosAgent(plan: AgentPlan): Promise<ChaosAgent> {
  const { directory, rpcUrl, deployment, control } = plan;
  const dataDir = join(directory, "data");
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const disk = openDisk(dataDir, plan.ownDisk);
  const rpc = await startRpcProxy(rpcUrl);
  const model = await startModelServer();
  const sources = await startSourceServer();
  const port = await freePort();
  const address = await plan.reach(port);
  const config = configOf(deployment, { rpc, model, sources, port, address });
  const registered = await registerAgent({ ...plan, rpcUrl, password: PASSWORD, config });
  const agent: WorldAgent = { ...registered, directory, lies: false };
  const nodeOptions = control === null ? [] : controlOptions(control);
  const secondDirectory = await makeSecondFolder(directory, config, dataDir);
  let child: ChildProcess | undefined;
  let second: ChildProcess | undefined;
  let lives = 0;
  let isHostile = false;
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  };

  return {
    ...agent,
    rpc,
    model,
    sources,
    disk,
    address,
    isRunning: () => isAlive(child),
    pids: () => [child, second].flatMap((one) => (isAlive(one) && one?.pid !== undefined ? [one.pid] : [])),
    start() {
      lives++;
      child = startAgent(agent, PASSWORD, nodeOptions);
    },
    kill,
    async stop() {
      if (child !== undefined) await stopProcess(child);
    },
    signal: (signal) => void child?.kill(signal),
    async serveTwice(timeoutMs) {
      const started = startAgent({ ...agent, directory: secondDirectory }, PASSWORD, nodeOptions);
      second = started;
      const timer = setTimeout(() => started.kill("SIGKILL"), timeoutMs);
      if (started.exitCode === null) await once(started, "exit");
      clearTimeout(timer);
      return started.signalCode === "SIGKILL" ? null : started.exitCode;
    },
    harm(how, addresses) {
      isHostile = true;
      child = spawn(process.execPath, ["--import", withParent, hostile, directory, how, ...addresses], {
        stdio: "ignore",
        env: { ...process.env, CONCLAVE_PASSWORD: PASSWORD },
      });
    },
    equivocate() {
      isHostile = true;
      lives++;
      child = startAgent({ ...agent, lies: true }, PASSWORD);
    },
    async disarm() {
      if (isHostile) await kill();
      isHostile = false;
    },
    stealNonce: () => stealNonce(rpcUrl, agent.keys),
    lives: () => lives,
    async close() {
      await kill();
      await Promise.all([rpc.close(), model.close(), sources.close()]);
      disk.close();
    },
  };
}

function isAlive(child: ChildProcess | undefined): boolean {
  return child?.exitCode === null && child.signalCode === null;
}

interface Surroundings extends Pick<ChaosAgent, "rpc" | "model" | "sources" | "address"> {
  readonly port: number;
}

/** What the agent's conclave.json says. */
function configOf({ chainId, oracle, registry }: Deployment, { rpc, model, sources, port, address }: Surroundings) {
  return {
    chain: { rpcUrl: rpc.url, chainId, oracle, registry, pollIntervalMs: 300, finalityDepth: FINALITY_DEPTH },
    model: { kind: "openai", url: model.url, model: "sums", prompts: "small", timeoutMs: 10_000, retries: 1 },
    listen: [`/ip4/127.0.0.1/tcp/${port}`],
    announce: [address],
    sources: { hosts: sources.hosts },
    timing: {
      phaseMs: 8_000,
      graceMs: 1_500,
      certifyMs: 1_500,
      certifyDeltaMs: 500,
      relayStaggerMs: 2_000,
      settleBatchMs: 1_000,
    },
  };
}

async function stealNonce(rpcUrl: string, keys: WorldAgent["keys"]): Promise<void> {
  const client = createPublicClient({ transport: http(rpcUrl) });
  const wallet = createWalletClient({ account: keys.viemAccount(), transport: http(rpcUrl) });
  const hash = await wallet.sendTransaction({
    chain: null,
    to: keys.address,
    value: 0n,
    // More than the highest base fee of a manifest.
    maxFeePerGas: 30n * TEN_GWEI,
    maxPriorityFeePerGas: TEN_GWEI,
  });
  await receiptOf(client, hash);
}

/** Makes a folder of the same agent with the same data and a port of its own: the port alone would stop it, and is no lock. */
async function makeSecondFolder(directory: string, config: object, dataDir: string): Promise<string> {
  const folder = join(directory, "second");
  await mkdir(folder, { recursive: true });
  await copyFile(join(directory, "keystore.json"), join(folder, "keystore.json"));
  const own = { ...config, listen: ["/ip4/127.0.0.1/tcp/0"], dataDir };
  await writeFile(join(folder, "conclave.json"), JSON.stringify(own));
  return folder;
}
