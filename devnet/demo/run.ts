import { randomBytes } from "node:crypto";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { formatEther, parseEther } from "viem";
import { createTransactionReader } from "../../agents/adapters/chain/transaction-reader.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import type { Address, AgentId, DecisionStatus, RequestId } from "../../agents/core/types.ts";
import type { ChainEvent } from "../../agents/core/request/events.ts";
import { sharedModel, toyModel } from "../../agents/cli/request/security.ts";
import type { AgentRecord, TransactionReader } from "../../agents/ports/chain.ts";
import { EXAMPLE_SUBSCRIPTION } from "../../ignition/modules/PolicyDesk.ts";
import { startLocalChain, type LocalChain } from "../local-chain.ts";
import type { WorldAgent } from "../world/agents.ts";
import { documentsOf, handOut } from "./documents.ts";
import type { DemoDecision, DemoFacts } from "./facts.ts";
import { areContractsCompiled, openDesk, type Asked, type Desk } from "./consumer.ts";
import { servePages } from "./pages.ts";
import { openPayer, type Payer } from "./pay.ts";
import { readQuotations, type Quotation } from "./quotations.ts";
import { reportSubgraph, startSubgraph, type SubgraphReport } from "./subgraph.ts";
import type { WorldModel } from "../world/model.ts";
import { deployWorld, poll, startAgents, type World } from "../world/world.ts";
import { isExpected, type DemoPlan, type DemoQuestion } from "./questions.ts";
import { numberOf } from "./request-number.ts";
import { verify, type Verified } from "./verify.ts";

const AGENTS = 5;
const COMMITTEE = 5;
/** Above the quote under the default prices, most of which is gas at the cap and comes back. */
const FEE = parseEther("20");

export interface DemoReport extends DemoFacts {
  /** Null without --subgraph. */
  readonly subgraph: SubgraphReport | null;
}

export interface DemoOptions {
  /** Serves the history by GraphQL at the end. */
  readonly subgraph: boolean;
  readonly protocol: Protocol;
  readonly plan: DemoPlan;
  readonly model: WorldModel;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
  /** Folder that gets the agents' logs; it is there. */
  readonly logs?: string;
  /** Called while chain and agents still run. */
  readonly onReport: (report: DemoReport) => Promise<void>;
}

/**
 * Runs everything from a local chain to verified decisions. Whatever it started, it stops and removes, also after an
 * error.
 */
export async function runDemo(options: DemoOptions): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "conclave-demo-"));
  const cleanups: (() => Promise<void>)[] = [() => rm(directory, { recursive: true, force: true, maxRetries: 3 })];
  try {
    await options.onReport(await decide(options, directory, cleanups));
  } finally {
    options.progress("stopping everything");
    for (const cleanup of cleanups.toReversed())
      await cleanup().catch((error: unknown) => options.progress(`clean-up: ${String(error)}`));
  }
}

async function decide(options: DemoOptions, directory: string, cleanups: (() => Promise<void>)[]): Promise<DemoReport> {
  const { model, plan, progress, signal } = options;
  const { questions } = plan;
  const started = performance.now();
  if (!(await areContractsCompiled())) progress("compiling the contracts (first run only), which may take minutes");
  progress("starting a local chain and deploying the contracts");
  const chain = await startLocalChain({ blockTimeSeconds: model.pace.blockSeconds });
  cleanups.push(() => chain.stop());
  const world = await openDemo(chain, directory, options);
  signal.throwIfAborted();
  const chainMs = performance.now() - started;

  progress(`${chain.engine} at ${chain.rpcUrl}; registering ${AGENTS} agents with the model ${model.name}`);
  const agents = await serveAgents(world, options, directory, cleanups);
  const agentsMs = performance.now() - started - chainMs;

  const liars = agents.filter(({ lies }) => lies).map(({ agentId }) => `#${agentId}`);
  progress(`${agents.length} agents serve in their own processes; agent ${liars.join(", ")} lies and equivocates`);
  const documents = questions.flatMap((question) => question.documents ?? []);
  const handedOut = await handOut(documents, world.reader, signal);
  cleanups.push(() => handedOut.close());
  await chain.nextEpoch(model.pace.epochBlocks);
  const joined = await world.reader.agents();
  for (const warning of [sharedModel(joined), toyModel(joined)]) if (warning !== null) progress(`warning: ${warning}`);
  const asked: Asked[] = [];
  for (const question of questions) {
    const one = await world.desk.ask(question);
    asked.push(one);
    progress(`request #${numberOf(one.requestId)}: ${question.question}`);
  }
  await follow(
    world,
    asked.map((one) => one.requestId),
    options,
  );
  const decisionsMs = performance.now() - started - chainMs - agentsMs;

  progress("verifying: chain, IPFS, hashes, signatures, replay");
  const verified = await Promise.all(
    asked.map(async ({ requestId }) => {
      const one = await verify(requestId, world.deploymentFile, signal);
      progress(`request #${numberOf(requestId)}: ${one.ok ? "proven" : "NOT proven"}`);
      return one;
    }),
  );
  const decisions = await Promise.all(
    asked.map((one, index) =>
      describe(world, one, questions[index] as DemoQuestion, verified[index] as Verified, (id) =>
        readQuotations(world, agents[0] as WorldAgent, id, signal),
      ),
    ),
  );
  progress("settling: every seat is paid by its share, and what is left goes back to the subscription");
  for (const { requestId } of asked) await world.payer.settle(requestId, signal);
  const total = performance.now() - started;
  const records = await world.reader.agents();
  const rewards = await Promise.all(agents.map(({ agentId, keys }) => world.payer.rewardsOf(agentId, keys.address)));
  const report = {
    protocol: options.protocol,
    model: model.name,
    decisions,
    agents: agents.map(({ agentId, keys, lies }, index) => ({
      agentId,
      signer: keys.address,
      lies,
      reputation: records.find((record) => record.agentId === agentId)?.reputation ?? 0,
      earned: formatEther(rewards[index] ?? 0n),
      slashed: formatEther(stakeOf(joined, agentId) - stakeOf(records, agentId)),
    })),
    durationsMs: {
      chain: Math.round(chainMs),
      agents: Math.round(agentsMs),
      decisions: Math.round(decisionsMs),
      verify: Math.round(total - chainMs - agentsMs - decisionsMs),
      total: Math.round(total),
    },
    deploymentFile: world.deploymentFile,
  };
  return { ...report, subgraph: options.subgraph ? await historyOf(report, world, options, cleanups) : null };
}

/** Starts the agents, and the pages that they read, and waits until all of them listen. */
async function serveAgents(
  world: DemoWorld,
  { model, plan, progress, signal, logs }: DemoOptions,
  directory: string,
  cleanups: (() => Promise<void>)[],
): Promise<readonly WorldAgent[]> {
  const pages = plan.servesPages ? await servePages(AGENTS) : null;
  if (pages !== null) cleanups.push(() => pages.close());
  const running = await startAgents(world, {
    directory,
    password: randomBytes(16).toString("hex"),
    model,
    count: AGENTS,
    liar: true,
    known: false,
    ...(pages === null ? {} : { sources: pages.hosts.map((hosts) => ({ hosts })) }),
    signal,
    progress,
  });
  cleanups.push(async () => {
    await running.stop();
    for (const agent of running.agents) await keepLog(agent, logs);
  });
  await running.ready();
  return running.agents;
}

async function historyOf(
  known: DemoFacts,
  { chain, deployment, deploymentFile }: DemoWorld,
  { signal, progress }: DemoOptions,
  cleanups: (() => Promise<void>)[],
): Promise<SubgraphReport> {
  const demo = { rpcUrl: chain.rpcUrl, deployment, deploymentFile, known, fee: FEE, signal, progress };
  const node = await startSubgraph(demo);
  cleanups.push(() => node.stop());
  return reportSubgraph(node, demo);
}

interface DemoWorld extends World {
  readonly transactions: TransactionReader;
  readonly desk: Desk;
  readonly payer: Payer;
}

async function openDemo(
  chain: LocalChain,
  directory: string,
  { model, plan, protocol }: DemoOptions,
): Promise<DemoWorld> {
  const example = {
    fee: FEE,
    duration: 3_600,
    // Every agent already has a seat, so an appeal could draw no other committee.
    appeals: 0,
    retries: 0,
    callbackGasLimit: 150_000,
    committeeSize: COMMITTEE,
    assurance: plan.assurance === "high" ? 1 : 0,
    protocol: protocol.code,
  };
  const world = await deployWorld(chain, directory, { epochBlocks: model.pace.epochBlocks, example });
  const { deployment, bank, owner, reader } = world;
  const { chainId, oracle, registry, example: desk } = deployment;
  if (desk === null) throw new Error("Deploy the example consumer: it is missing");
  const contracts = { rpcUrl: chain.rpcUrl, chainId, oracle, registry };
  await bank.mint(owner.address.toLowerCase() as Address, 100n * FEE);
  await bank.subscribe(oracle, EXAMPLE_SUBSCRIPTION, 100n * FEE);
  return {
    ...world,
    transactions: await createTransactionReader({
      ...contracts,
      deploymentBlock: BigInt(deployment.deploymentBlock),
    }),
    desk: await openDesk(chain.rpcUrl, chainId, desk, owner),
    payer: await openPayer(chain.rpcUrl, deployment, reader, owner),
  };
}

async function keepLog(agent: WorldAgent, logs: string | undefined): Promise<void> {
  if (logs === undefined) return;
  await copyFile(join(agent.directory, "agent.log"), join(logs, `${basename(agent.directory)}.log`));
}

async function follow(
  { reader }: DemoWorld,
  requestIds: readonly RequestId[],
  { model, progress, signal }: DemoOptions,
): Promise<void> {
  const told = new Set<string>();
  const tell = async (): Promise<void> => {
    for (const requestId of requestIds) {
      for (const event of await reader.requestEvents(requestId, signal)) {
        const line = lineOf(event, requestId);
        if (line === null || told.has(line)) continue;
        told.add(line);
        progress(line);
      }
    }
  };
  await poll(model.pace.decideMs, "the decisions", signal, async () => {
    await tell();
    const states = await Promise.all(requestIds.map((requestId) => reader.requestState(requestId, signal)));
    return states.every(({ status }) => status !== "none" && status !== "requested");
  });
  // What was committed after the last events were read.
  await tell();
}

function lineOf(event: ChainEvent, requestId: RequestId): string | null {
  switch (event.kind) {
    case "decisionCommitted":
      return `request #${numberOf(requestId)}: ${event.decision.status} "${event.decision.answer}", confidence ${(event.decision.confidence / 10_000).toFixed(1)} %`;
    case "requestRefunded":
      return `request #${numberOf(requestId)}: refunded`;
    default:
      return null;
  }
}

/** The statuses as the contracts name them. */
const STATUS_NAMES: Readonly<Record<DecisionStatus, string>> = {
  decided: "Decided",
  hung: "Hung",
  unanswerable: "Unanswerable",
  tooEarly: "TooEarly",
};

async function describe(
  world: DemoWorld,
  { requestId, requestGas }: Asked,
  question: DemoQuestion,
  verified: Verified,
  quotationsOf: (requestId: RequestId) => Promise<readonly Quotation[]>,
): Promise<DemoDecision> {
  const { reader, desk, transactions } = world;
  const events = await reader.requestEvents(requestId);
  const committed = events.find((event) => event.kind === "decisionCommitted");
  if (committed === undefined) throw new Error(`request ${requestId} has no decision`);
  const { committee, decision, relay, transactionHash } = committed;
  const outcome = await desk.outcomeOf(requestId);
  return {
    requestId: requestId.toString(),
    question: question.question,
    kind: question.kind,
    status: STATUS_NAMES[decision.status],
    outcome: decision.outcome,
    answer: decision.answer,
    confidence: decision.confidence,
    documents: documentsOf(question),
    expected: question.expected,
    quotations: question.sources === undefined ? [] : await quotationsOf(requestId),
    correct: isExpected(question, decision.status, decision.answer),
    seats: committee.map(({ agentId, signer, reputation }, seat) => ({ seat, agentId, signer, reputation })),
    signers: committee.flatMap((_, seat) => ((relay.signers >> BigInt(seat)) & 1n ? [seat] : [])),
    rounds: verified.rounds,
    commitGas: Number((await transactions.receipt(transactionHash)).gasUsed),
    requestGas: Number(requestGas),
    commitTx: transactionHash,
    transcript: cidString(decision.transcript),
    // The consumer keeps no value of a question without an answer.
    callbackSucceeded: outcome.status !== 0 && (decision.status !== "decided" || outcome.value === decision.outcome),
    verified: verified.ok,
    argument: verified.argument,
  };
}

function stakeOf(records: readonly AgentRecord[], agentId: AgentId): bigint {
  const record = records.find((one) => one.agentId === agentId);
  return record === undefined ? 0n : record.stake + record.unbonding;
}
