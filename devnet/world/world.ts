// What every local world has: contracts on a chain, somebody who gives coins and tokens, and agents that serve.
import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseEther, type LocalAccount } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { readDeployment } from "../../agents/cli/shared/config.ts";
import { createChainReader } from "../../agents/adapters/chain/reader.ts";
import type { Keys } from "../../agents/adapters/keystore/keys.ts";
import type { ChainReader } from "../../agents/ports/chain.ts";
import { deploy } from "../../scripts/deploy/deployment.ts";
import { MIN_UNBONDING_SECONDS, type Deployment, type ExampleSettings } from "../../scripts/deploy/settings.ts";
import { DEFAULT_PRICES } from "../../scripts/deploy/prices.ts";
import type { LocalChain } from "../local-chain.ts";
import {
  findAgent,
  setUpAgent,
  startAgent,
  stopProcess,
  type AgentSettings,
  type SourcesSettings,
  type WorldAgent,
} from "./agents.ts";
import { openBank, type Bank } from "./bank.ts";
import type { WorldModel } from "./model.ts";

/** Stake of an honest agent. */
const STAKE = parseEther("1000");
const POLL_MS = 200;
const START_TIMEOUT_MS = 600_000;
const CONNECT_TIMEOUT_MS = 1_000;

export interface World {
  readonly chain: LocalChain;
  readonly deployment: Deployment;
  /** The deployment with the chain's URL, for `--deployment`. */
  readonly deploymentFile: string;
  readonly reader: ChainReader;
  /** The deployer, which also has coins for everybody. */
  readonly owner: LocalAccount;
  readonly bank: Bank;
}

export interface DeploySettings {
  readonly epochBlocks: number;
  /** No example consumer if absent. */
  readonly example?: ExampleSettings;
}

/** Deploys the contracts, and writes the deployment file into the directory. */
export async function deployWorld(chain: LocalChain, directory: string, settings: DeploySettings): Promise<World> {
  const deployment = await deploy({
    rpcUrl: chain.rpcUrl,
    account: ownerOf(chain),
    token: null,
    minStake: STAKE,
    maxStake: 4n * STAKE,
    unbondingDelaySeconds: MIN_UNBONDING_SECONDS,
    prices: DEFAULT_PRICES,
    buildProfile: "default",
    ...settings,
  });
  return openWorld(chain, directory, deployment);
}

/** Opens the world that was deployed into the directory before. Throws if the chain is another one. */
export async function reopenWorld(chain: LocalChain, directory: string): Promise<World> {
  const file = deploymentFileIn(directory);
  await readDeployment(file);
  const deployment = JSON.parse(await readFile(file, "utf8")) as Deployment;
  return openWorld(chain, directory, deployment);
}

export function deploymentFileIn(directory: string): string {
  return join(directory, "deployment.json");
}

/** Writes the deployment file, with more for whoever reads it. */
export async function writeDeployment({ chain, deployment, deploymentFile }: World, more: object = {}): Promise<void> {
  await writeFile(deploymentFile, `${JSON.stringify({ ...deployment, rpcUrl: chain.rpcUrl, ...more }, null, 2)}\n`);
}

async function openWorld(chain: LocalChain, directory: string, deployment: Deployment): Promise<World> {
  const { chainId, oracle, registry, token, deploymentBlock } = deployment;
  const contracts = { rpcUrl: chain.rpcUrl, chainId, oracle, registry, deploymentBlock: BigInt(deploymentBlock) };
  const owner = ownerOf(chain);
  const world = {
    chain,
    deployment,
    deploymentFile: deploymentFileIn(directory),
    reader: await createChainReader({ ...contracts, finalityDepth: 0, pollIntervalMs: POLL_MS }),
    owner,
    bank: openBank(chain, token, owner),
  };
  await writeDeployment(world);
  return world;
}

function ownerOf(chain: LocalChain): LocalAccount {
  const [first] = chain.accounts;
  if (first === undefined) throw new Error("Start the local chain: it has no accounts");
  return privateKeyToAccount(first.privateKey);
}

export interface AgentsSettings {
  /** Gets a folder for each agent. */
  readonly directory: string;
  readonly password: string;
  readonly model: WorldModel;
  readonly count: number;
  /** The last agent lies and equivocates. */
  readonly liar: boolean;
  /** HOST:PORT of each agent's gateway; no gateways if absent. */
  readonly gateways?: readonly string[];
  /** TCP port of each agent's live stream; none if absent. */
  readonly livePorts?: readonly number[];
  /** How each agent reads what questions name; by the defaults of its config if absent. */
  readonly sources?: readonly SourcesSettings[];
  /** True if the agents were set up in the directory before. */
  readonly known: boolean;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

export interface RunningAgents {
  readonly agents: readonly WorldAgent[];
  /** Resolves when every agent listens where the registry says. */
  readonly ready: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Sets the agents up and starts their processes. */
export async function startAgents(world: World, settings: AgentsSettings): Promise<RunningAgents> {
  const { count, liar, signal, progress } = settings;
  const records = settings.known ? await world.reader.agents(signal) : [];
  const setUps: Promise<WorldAgent>[] = [];
  for (let index = 0; index < count; index++) {
    const one = settingsOf(world, settings, index, liar && index === count - 1);
    // In order, so that the id of an agent is the number of its folder and tells its ports.
    const before = setUps.at(-1);
    const fund = async (keys: Keys): Promise<void> => {
      await one.fund(keys);
      await before;
    };
    setUps.push(settings.known ? findAgent(one, records) : setUpAgent({ ...one, fund }));
  }
  const agents = await Promise.all(setUps);
  const children = agents.map((agent) => {
    const child = startAgent(agent, settings.password);
    child.once("exit", (code) => {
      if (!signal.aborted && code !== 0 && code !== null)
        progress(`agent ${agent.agentId} ended with code ${code}; see ${join(agent.directory, "agent.log")}`);
    });
    return child;
  });
  return {
    agents,
    ready: () =>
      poll(START_TIMEOUT_MS, "the agents to start", signal, () => areListening(world.reader, agents, signal)),
    stop: async () => void (await Promise.all(children.map(stopProcess))),
  };
}

function settingsOf(
  { deployment, chain, bank }: World,
  { directory, password, model, gateways, livePorts, sources }: AgentsSettings,
  index: number,
  lies: boolean,
): AgentSettings {
  // A liar is slashed once per question and must stay above the minimum.
  const stake = lies ? 2n * STAKE : STAKE;
  const gateway = gateways?.[index];
  const livePort = livePorts?.[index];
  return {
    directory: join(directory, `agent-${index + 1}`),
    password,
    rpcUrl: chain.rpcUrl,
    deployment,
    model,
    stake,
    lies,
    ...(gateway === undefined ? {} : { gateway }),
    ...(livePort === undefined ? {} : { livePort }),
    ...(sources?.[index] === undefined ? {} : { sources: sources[index] }),
    fund: (keys) => bank.fund(keys.address, stake),
  };
}

/** An agent publishes its address once it listens. One that was started again may still have its old address there. */
async function areListening(reader: ChainReader, agents: readonly WorldAgent[], signal: AbortSignal): Promise<boolean> {
  const records = await reader.agents(signal);
  const heard = await Promise.all(
    agents.map(async ({ agentId }) => {
      const endpoint = records.find((record) => record.agentId === agentId)?.endpoint ?? [];
      const port = /\/tcp\/(\d+)/.exec(endpoint[0] ?? "")?.[1];
      return port !== undefined && (await isOpen(Number(port)));
    }),
  );
  return heard.every(Boolean);
}

/** True if somebody listens on that TCP port of 127.0.0.1. */
export function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, timeout: CONNECT_TIMEOUT_MS });
    const end = (open: boolean): void => {
      socket.destroy();
      resolve(open);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
    socket.once("timeout", () => end(false));
  });
}

export async function poll(
  timeoutMs: number,
  what: string,
  signal: AbortSignal,
  done: () => Promise<boolean>,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await done())) {
    if (performance.now() > end)
      throw new Error(`waited ${timeoutMs / 1000} s for ${what} in vain; see the agents' logs`);
    await sleep(POLL_MS, undefined, { signal });
  }
}
