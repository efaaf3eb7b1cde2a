// A chain, a deployment and agents in processes of their own, with a harness between them.
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import PQueue from "p-queue";
import { parseEther } from "viem";
import { privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { revertName } from "../agents/adapters/chain/errors.ts";
import { createOperatorActions } from "../agents/adapters/chain/operator.ts";
import { createChainReader } from "../agents/adapters/chain/reader.ts";
import { createTransactionReader } from "../agents/adapters/chain/transaction-reader.ts";
import { messageOf } from "../agents/core/errors.ts";
import { protocolById } from "../agents/core/protocols/index.ts";
import type { RequestState } from "../agents/core/request/events.ts";
import { lastRound, progressOf } from "../agents/core/request/progress.ts";
import { agentsNeeded } from "../agents/core/request/rounds.ts";
import { isFinalState } from "../agents/core/request/state.ts";
import { defaultTerms } from "../agents/core/request/terms.ts";
import type { Address, RequestId } from "../agents/core/types.ts";
import type { ChainReader, OperatorActions, TransactionReader } from "../agents/ports/chain.ts";
import { openBank } from "../devnet/world/bank.ts";
import { startLocalChain, type LocalChain } from "../devnet/local-chain.ts";
import { deploy } from "../scripts/deploy/deployment.ts";
import { MIN_UNBONDING_SECONDS, type Deployment } from "../scripts/deploy/settings.ts";
import { DEFAULT_PRICES } from "../scripts/deploy/prices.ts";
import { createChainFaults, type ChainFaults } from "./chain-faults.ts";
import { createChaosAgent, type ChaosAgent } from "./agents.ts";
import type { Control } from "./controls.ts";
import { createLinks, type Links } from "./links.ts";
import { startMiner, type Miner } from "./miner.ts";
import { questionOf } from "./model-server.ts";
import { sourceOf } from "./source-server.ts";

export interface Asked {
  readonly requestId: RequestId;
  readonly protocol: string;
  readonly truth: string;
  /** True if the answer stands at a source. */
  readonly hasSource: boolean;
}

export interface ChaosWorld {
  readonly directory: string;
  readonly chain: LocalChain;
  readonly deployment: Deployment;
  readonly reader: ChainReader;
  readonly transactions: TransactionReader;
  readonly asker: Address;
  /** Amounts that each agent had at first and that each request pays, in the token's smallest unit. */
  readonly stake: bigint;
  readonly fee: bigint;
  readonly agents: readonly ChaosAgent[];
  readonly links: Links;
  /** Seats of a committee that no appeal called. */
  readonly seats: number;
  ask(protocol: string, hasSource?: boolean): Promise<Asked>;
  /** Appeals against the request's last decision, if it still has one. */
  appeal(requestId: RequestId): Promise<void>;
  /** No request is being asked while it reorganizes. */
  readonly chainFaults: ChainFaults;
  /** Mines up to the next epoch, so that committees are drawn from those who are awake now for as long as a manifest takes. */
  nextEpoch(): Promise<void>;
  /** Requests so far. */
  asked(): number;
  /** Stops everything; keeps the folder if it is told to. */
  close(): Promise<void>;
}

/** What differs between worlds. */
export interface WorldPlan {
  readonly control: Control | null;
  readonly agents: number;
  /** Seats of a committee that no appeal called. */
  readonly seats: number;
  /** Appeals that a request allows. */
  readonly appeals: number;
  /** True if each agent has a disk of its own, which can be full. It has room for some hundred decisions. */
  readonly ownDisks: boolean;
  /**
   * True if asking may mine up to the next epoch where too few agents are awake. It passes blocks in which the seeds of
   * open requests expire; without it asking waits.
   */
  readonly skipsBlocks: boolean;
}

const STAKE = parseEther("1000");
/** What a slash leaves: whoever was slashed once is still drawn. */
const LEAST_STAKE = parseEther("900");
const FEE = parseEther("60");
const EPOCH_BLOCKS = 400;
const MOST_REQUESTS = 40_000n;
const TERMS = {
  token: null,
  minStake: LEAST_STAKE,
  maxStake: STAKE,
  unbondingDelaySeconds: MIN_UNBONDING_SECONDS,
  epochBlocks: EPOCH_BLOCKS,
  prices: DEFAULT_PRICES,
  buildProfile: "default",
} as const;
/** A sleeping agent has so long to wake, and is asked for so often. */
const WAKE_TIMEOUT_MS = 600_000;
const WAKE_POLL_MS = 1_000;
const START_TIMEOUT_MS = 600_000;

type Closer = () => Promise<void>;

/** Starts a world; its agents serve and have reached each other when this resolves. Rejects as soon as the signal aborts. */
export async function startChaosWorld(
  plan: WorldPlan,
  tell: (line: string) => void,
  signal: AbortSignal,
): Promise<ChaosWorld> {
  const directory = await mkdtemp(join(tmpdir(), "conclave-chaos-"));
  const closers: Closer[] = [() => rm(directory, { recursive: true, force: true, maxRetries: 3 })];
  const close = async (): Promise<void> => {
    for (const closer of closers.toReversed()) await closer();
    closers.length = 0;
  };
  try {
    const { chain, owner, deployment, miner } = await startChain(closers, tell, signal);
    tell(`starts ${plan.agents} agents`);
    const bank = openBank(chain, deployment.token, owner);
    const agents: ChaosAgent[] = [];
    const links = createLinks((agent) => agents[agent]?.pids() ?? [], plan.agents);
    closers.push(() => links.close());
    for (let index = 0; index < plan.agents; index++) {
      signal.throwIfAborted();
      const agentDirectory = join(directory, `agent-${index}`);
      await mkdir(agentDirectory, { recursive: true });
      const agent = await createChaosAgent({
        directory: agentDirectory,
        rpcUrl: chain.rpcUrl,
        deployment,
        stake: STAKE,
        control: plan.control,
        ownDisk: plan.ownDisks,
        fund: (keys) => bank.fund(keys.address, STAKE),
        reach: (port) => links.open(index, port),
      });
      agents.push(agent);
      closers.push(() => agent.close());
      agent.start();
    }
    const source = { ...deployment, rpcUrl: chain.rpcUrl, deploymentBlock: BigInt(deployment.deploymentBlock) };
    const reader = await createChainReader({ ...source, finalityDepth: 0, pollIntervalMs: 200 });
    const asker = owner.address.toLowerCase() as Address;
    await bank.mint(asker, MOST_REQUESTS * FEE);
    const actions = await createOperatorActions({ ...source, account: owner, receiptPollMs: 100 });
    await until(async () => (await reader.agents()).every(({ endpoint }) => endpoint.length > 0), "endpoints", signal);
    // Agents are drawn from the epoch after the one in which they registered.
    const nextEpoch = (): Promise<void> => miner.alone(() => chain.nextEpoch(EPOCH_BLOCKS));
    await nextEpoch();
    const faults = createChainFaults(chain.rpcUrl, asker, miner);
    closers.push(async () => faults.close());
    const asking = createAsking({ actions, reader, nextEpoch }, plan, signal);
    tell("asks a first question, which shows that the agents reach each other");
    await askFirst(asking, reader, plan, signal);
    return {
      directory,
      chain,
      deployment,
      reader,
      transactions: await createTransactionReader(source),
      asker,
      stake: STAKE,
      fee: FEE,
      agents,
      links,
      seats: plan.seats,
      ask: asking.ask,
      appeal: asking.appeal,
      asked: asking.asked,
      chainFaults: { ...faults, reorganize: (blocks, kept) => asking.inOrder(() => faults.reorganize(blocks, kept)) },
      nextEpoch,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface StartedChain extends Pick<ChaosWorld, "chain" | "deployment"> {
  /** Account of the deployer, who asks and appeals, too. */
  readonly owner: PrivateKeyAccount;
  readonly miner: Miner;
}

/** Starts a chain that has the contracts, and adds what stops it. */
async function startChain(closers: Closer[], tell: (line: string) => void, signal: AbortSignal): Promise<StartedChain> {
  tell("starts a chain");
  const chain = await startLocalChain({ engine: "anvil" });
  closers.push(() => chain.stop());
  const owner = privateKeyToAccount(chain.accounts[0]?.privateKey ?? "0x");
  tell("deploys the contracts; after a change it compiles them first, which takes half a minute");
  const deploying = deploy({ rpcUrl: chain.rpcUrl, account: owner, ...TERMS });
  const deployment = await Promise.race([deploying, rejectedBy(signal)]);
  const miner = await startMiner(chain.rpcUrl);
  closers.push(() => miner.stop());
  return { chain, owner, deployment, miner };
}

interface Asking extends Pick<ChaosWorld, "ask" | "appeal" | "asked"> {
  /** Runs an action while no request is being asked. */
  inOrder<Result>(action: () => Promise<Result>): Promise<Result>;
}

/** Asks a question of all agents: the appeal calls those whom the first committee left out. */
async function askFirst(
  asking: Asking,
  reader: ChainReader,
  { appeals }: WorldPlan,
  signal: AbortSignal,
): Promise<void> {
  const { requestId } = await asking.ask("mbft");
  const state = (): Promise<RequestState> => reader.requestState(requestId, signal);
  if (appeals > 0) {
    await until(async () => (await state()).provisional, "decision to appeal against", signal);
    await asking.appeal(requestId);
  }
  await until(async () => isFinalState(await state()), "decision of the first question", signal);
}

interface AskingPorts {
  readonly actions: Pick<OperatorActions, "request" | "appeal">;
  readonly reader: ChainReader;
  readonly nextEpoch: ChaosWorld["nextEpoch"];
}

/** Asks and appeals, one after the other: each approves what it pays. */
function createAsking(
  { actions, reader, nextEpoch }: AskingPorts,
  { agents, seats, appeals, skipsBlocks }: WorldPlan,
  signal: AbortSignal,
): Asking {
  const isAnyAsleep = async (): Promise<boolean> => (await reader.agents(signal)).some(({ asleep }) => asleep);
  /** Where all agents are needed nobody may sleep: if the next epoch begins before the draw, it lacks who sleeps now. */
  const awake = async (): Promise<void> => {
    if (agentsNeeded({ committeeSize: seats, appeals }) < agents || !(await isAnyAsleep())) return;
    await until(async () => !(await isAnyAsleep()), "agent that is awake", signal);
    await skip();
  };
  const skip = async (): Promise<void> => (skipsBlocks ? nextEpoch() : undefined);
  let asked = 0;
  const queue = new PQueue({ concurrency: 1 });
  const inOrder: Asking["inOrder"] = (action) => queue.add(action);
  const askOnce = async (protocol: string, hasSource: boolean): Promise<Asked> => {
    const code = protocolById(protocol)?.code;
    if (code === undefined) throw new Error(`Ask: the protocol ${protocol} is unknown`);
    const terms = defaultTerms({ fee: FEE, kind: "number", protocol: code, committeeSize: seats, appeals, retries: 1 });
    const [a, b] = [11 + (asked % 83), 20 + ((7 * asked) % 71)];
    const question = questionOf(a, b) + (hasSource ? `\nsource: ${sourceOf(a, b)}` : "");
    await awake();
    const { requestId } = await askOnceAwake(() => actions.request(terms, question), skip, signal);
    asked++;
    return { requestId, protocol, truth: String(a + b), hasSource };
  };
  const appealOnce = async (requestId: RequestId): Promise<void> => {
    const progress = progressOf(await reader.requestEvents(requestId, signal));
    const decided = progress === null ? null : lastRound(progress);
    if (progress !== null && decided !== null) await actions.appeal(progress.request, decided);
  };
  return {
    ask: (protocol, hasSource = false) => inOrder(() => askOnce(protocol, hasSource)),
    appeal: (requestId) => inOrder(() => appealOnce(requestId)),
    asked: () => asked,
    inOrder,
  };
}

/**
 * Asks, and again where too few agents are awake (SE20): who missed three seats has to wake itself, and the next epoch draws it again.
 * Also where the base fee jumped since the transaction was priced.
 */
async function askOnceAwake<T>(ask: () => Promise<T>, skip: () => Promise<void>, signal: AbortSignal): Promise<T> {
  for (const end = performance.now() + WAKE_TIMEOUT_MS; ;) {
    try {
      return await ask();
    } catch (error) {
      const isAsleep = revertName(error) === "TooFewAgents";
      const isDear = messageOf(error).includes("max fee per gas less than block base fee");
      if (!(isAsleep || isDear) || performance.now() > end) throw error;
      await sleep(WAKE_POLL_MS, undefined, { signal });
      if (isAsleep) await skip();
    }
  }
}

/** Rejects with the signal's reason when it aborts. */
async function rejectedBy(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, "abort");
  throw signal.reason;
}

/** Polls until the condition holds. Throws after START_TIMEOUT_MS. */
async function until(holds: () => Promise<boolean>, what: string, signal: AbortSignal): Promise<void> {
  const end = performance.now() + START_TIMEOUT_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Wait for the world: no ${what} after ${START_TIMEOUT_MS / 1000} s`);
    await sleep(250, undefined, { signal });
  }
}
