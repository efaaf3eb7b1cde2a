// The agents of a local world: each has a directory like an operator's, and a process of its own.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { z } from "zod";
import { createOperatorActions } from "../../agents/adapters/chain/operator.ts";
import { provePossession } from "../../agents/adapters/chain/possession.ts";
import { modelConfigSchema } from "../../agents/adapters/models/config.ts";
import { descriptorOf } from "../../agents/adapters/models/create-model.ts";
import type { sourcesConfigSchema } from "../../agents/adapters/source-reader/config.ts";
import { createKeystore, openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import type { Keys } from "../../agents/adapters/keystore/keys.ts";
import { CONFIG_FILE, KEYSTORE_FILE } from "../../agents/cli/shared/config.ts";
import type { AgentId, Ppm } from "../../agents/core/types.ts";
import type { AgentRecord } from "../../agents/ports/chain.ts";
import type { WorldModel } from "./model.ts";
import type { Deployment } from "../../scripts/deploy/settings.ts";

const root = join(import.meta.dirname, "../..");
const withParent = join(import.meta.dirname, "with-parent.ts");
const STOP_TIMEOUT_MS = 5_000;
/** A fast key derivation is enough for throw-away keys on a throw-away chain. */
const SCRYPT_N = 4096;

export interface WorldAgent {
  readonly agentId: AgentId;
  readonly directory: string;
  readonly keys: Keys;
  readonly lies: boolean;
}

/** What a config has as `sources`. */
export type SourcesSettings = z.input<typeof sourcesConfigSchema>;

/** Hosts of pages, by name: where `sources.hosts` of a config finds them. */
export type HostPlaces = Readonly<
  Record<string, { readonly address: string; readonly port: number; readonly ca: string }>
>;

export interface AgentSettings extends Omit<RegistrationSettings, "config"> {
  readonly model: WorldModel;
  readonly lies: boolean;
  /** HOST:PORT of its gateway; none if absent. */
  readonly gateway?: string;
  /** TCP port of its live stream, which any page may read; none if absent. */
  readonly livePort?: number;
  /** By the defaults of its config if absent. */
  readonly sources?: SourcesSettings;
}

export interface RegistrationSettings {
  readonly directory: string;
  readonly password: string;
  readonly rpcUrl: string;
  readonly deployment: Deployment;
  /** What conclave.json says. */
  readonly config: { readonly model: object };
  readonly stake: bigint;
  /** Gives the new agent coins for gas and tokens for its stake. */
  readonly fund: (keys: Keys) => Promise<void>;
}

/** Does what `conclave agent init` and `conclave agent register` do. */
export async function setUpAgent(settings: AgentSettings): Promise<WorldAgent> {
  const { directory, lies } = settings;
  return { ...(await registerAgent({ ...settings, config: configOf(settings) })), directory, lies };
}

/** Writes the folder of an agent and registers it. */
export async function registerAgent(settings: RegistrationSettings): Promise<Pick<WorldAgent, "agentId" | "keys">> {
  const { directory, deployment, rpcUrl, config } = settings;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const keys = await createKeystore(join(directory, KEYSTORE_FILE), settings.password, { scryptN: SCRYPT_N });
  await writeConfig(directory, config);
  await settings.fund(keys);
  const { chainId, oracle, registry } = deployment;
  const operator = await createOperatorActions({
    rpcUrl,
    chainId,
    oracle,
    registry,
    account: keys.viemAccount(),
    receiptPollMs: 100,
  });
  const possession = provePossession(keys, { chainId, registry, operator: keys.address });
  const registration = {
    publicKey: keys.publicKey,
    possession,
    model: await descriptorOf(modelConfigSchema.parse(config.model)),
    endpoint: [],
    stake: settings.stake,
    commission: 0 as Ppm,
  };
  const { agentId } = await operator.register(registration);
  return { agentId, keys };
}

/** Finds an agent that was set up in its directory before; its config follows the settings, which may have new ports. */
export async function findAgent(settings: AgentSettings, records: readonly AgentRecord[]): Promise<WorldAgent> {
  const { directory, password, lies } = settings;
  const keys = await openKeystore(join(directory, KEYSTORE_FILE), password);
  const record = records.find(({ signer }) => signer === keys.address);
  if (record === undefined) throw new Error(`Find the agent of ${directory}: the chain has none with its key`);
  await writeConfig(directory, configOf(settings));
  return { agentId: record.agentId, directory, keys, lies };
}

function configOf({ deployment, rpcUrl, model, gateway, livePort, sources }: AgentSettings) {
  const { chainId, oracle, registry } = deployment;
  return {
    chain: { rpcUrl, chainId, oracle, registry, pollIntervalMs: 200 },
    model: { kind: "llama", path: model.path, sequences: 2, threads: 1, gpu: false },
    listen: ["/ip4/127.0.0.1/tcp/0"],
    ...(gateway === undefined ? {} : { gateway }),
    ...(livePort === undefined ? {} : { live: { port: livePort, origins: ["*"] } }),
    ...(sources === undefined ? {} : { sources }),
    timing: {
      phaseMs: model.pace.phaseMs,
      graceMs: 3_000,
      certifyMs: 3_000,
      relayStaggerMs: 2_000,
      settleBatchMs: 2_000,
    },
  };
}

async function writeConfig(directory: string, config: object): Promise<void> {
  await writeFile(join(directory, CONFIG_FILE), JSON.stringify(config, null, 2));
}

/** Starts the agent's process; its log goes to agent.log in its directory. */
export function startAgent(agent: WorldAgent, password: string, nodeOptions: readonly string[] = []): ChildProcess {
  const log = openSync(join(agent.directory, "agent.log"), "a", 0o600);
  const [script, ...args] = agent.lies
    ? [join(import.meta.dirname, "liar.ts"), agent.directory, String(agent.agentId)]
    : [join(root, "agents", "cli", "main.ts"), "agent", "run", "--dir", agent.directory];
  const child = spawn(process.execPath, ["--import", withParent, ...nodeOptions, script, ...args], {
    stdio: ["ignore", log, log],
    env: { ...process.env, CONCLAVE_PASSWORD: password },
  });
  if (running.size === 0) process.once("exit", killAll);
  running.add(child);
  child.once("exit", () => {
    running.delete(child);
    if (running.size === 0) process.off("exit", killAll);
  });
  return child;
}

/** Agents' processes, which share one listener: Node takes a dozen for a leak. */
const running = new Set<ChildProcess>();

/** Kills them at once; `withParent` sees the end of this process half a second later, whatever ended it. */
function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}

export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}
