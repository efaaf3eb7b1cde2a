import { join } from "node:path";
import { createChainReader } from "../../adapters/chain/reader.ts";
import { createTransactionReader } from "../../adapters/chain/transaction-reader.ts";
import { createChainWriter } from "../../adapters/chain/writer.ts";
import { createSystemClock } from "../../adapters/clock/system-clock.ts";
import { startGateway } from "../../adapters/ipfs/gateway.ts";
import { createFileEvidence } from "../../adapters/evidence/file-evidence.ts";
import { createFileJournals } from "../../adapters/journal/file-journal.ts";
import type { Keys } from "../../adapters/keystore/keys.ts";
import { createLibp2pNetwork, type Libp2pNetwork } from "../../adapters/libp2p/network.ts";
import { startLiveStreams, type LiveStreams } from "../../adapters/live/live-server.ts";
import type { Metrics } from "../../adapters/metrics/metrics.ts";
import { openSourceReader } from "../../adapters/source-reader/reader.ts";
import { createModel } from "../../adapters/models/create-model.ts";
import { promptsName } from "../../core/prompts/prompt.ts";
import { createAgent, type Agent } from "../../node/agent.ts";
import type { ChainReader } from "../../ports/chain.ts";
import type { CollectedStore } from "../../ports/content-store.ts";
import type { Model } from "../../ports/model.ts";
import type { Log } from "../../ports/log.ts";
import type { Network } from "../../ports/network.ts";
import { parseListen } from "../shared/arguments.ts";
import { chainSource } from "../shared/chain-source.ts";
import { EVIDENCE_FOLDER, storeFolder, withOwnRpc, type AgentConfig } from "../shared/config.ts";
import { makeFolderOf } from "../shared/folder.ts";
import { KNOWS_TOYS } from "../shared/toy-questions.ts";
import { createNetworkLog } from "./network-log.ts";

export interface JoinedAgent {
  readonly agent: Agent;
  /** Addresses that the agent listens on. */
  readonly multiaddrs: readonly string[];
  readonly store: CollectedStore;
  /** URL of the metrics; null if the config has none. */
  readonly metricsUrl: string | null;
  /** URL of the live stream; null if the config has none. */
  readonly liveUrl: string | null;
  close(): Promise<void>;
}

/** Wrappers around adapters, for tests and for the demo's misbehaving agent. */
export interface Decorators {
  readonly chain?: (chain: ChainReader) => ChainReader;
  readonly network?: (network: Network) => Network;
  readonly model?: (model: Model) => Model;
}

/** Joins the real adapters to one agent. If one fails to open, those opened before are closed again. */
export async function joinAgent(
  config: AgentConfig,
  keys: Keys,
  log: Log,
  decorators: Decorators = {},
): Promise<JoinedAgent> {
  const { dataDir } = config;
  const clock = createSystemClock();
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.toReversed()) await closer();
  };
  try {
    await makeFolderOf("dataDir of conclave.json", dataDir, 0o700);
    const source = chainSource(config.chain);
    const chain = await createChainReader({ ...source, logger: log });
    const writer = await createChainWriter({ ...source, account: keys.viemAccount() });
    const metrics = config.metrics === undefined ? null : await openMetrics();
    const hosted = await createModel(config.model, process.env, {
      onEnd: (reason) => log.warn({ reason }, "the model's process ended; it is started again"),
      onStrange: (made) =>
        log.warn({ made }, "the calibration table does not belong to what answered; the confidence is ignored"),
    });
    closers.push(() => hosted.close());
    describeModel(config, hosted, log);
    const model = metrics?.measured(hosted) ?? hosted;
    const networkLog = createNetworkLog(log, clock);
    const network = await createLibp2pNetwork({
      privateKey: keys.libp2pPrivateKey(),
      listen: config.listen,
      report: networkLog.report,
    });
    closers.push(() => network.close());
    const store = await openStore(config, network);
    closers.push(() => store.close());
    if (config.gateway !== undefined) {
      const gateway = await startGateway({ store, ...parseListen(config.gateway, "gateway") });
      closers.push(() => gateway.close());
      log.info({ url: gateway.url }, "the gateway serves this agent's blocks");
    }
    const live = await openLive(config, log);
    if (live !== null) closers.push(() => live.close());
    const reader = await openSourceReader({ config: withOwnRpc(config), store, environment: process.env });
    const agent = createAgent(
      {
        chain: decorators.chain?.(chain) ?? chain,
        writer,
        transactions: await createTransactionReader(source),
        network: decorators.network?.(network) ?? network,
        store,
        sources: metrics?.measuredReader(reader) ?? reader,
        model: decorators.model?.(model) ?? model,
        signer: keys,
        journals: createFileJournals(join(dataDir, "journals")),
        evidence: createFileEvidence(join(dataDir, EVIDENCE_FOLDER)),
        ...(live !== null && { live: live.feed }),
        clock,
        log,
      },
      config.timing,
      config.model.tokensPerRequest,
    );
    let metricsUrl: string | null = null;
    if (metrics !== null && config.metrics !== undefined) {
      metrics.showAgent(() => agent.facts());
      metrics.showNetwork(() => networkLog.refused());
      if (live !== null) metrics.showLive(() => live.facts());
      const server = await metrics.serve(config.metrics);
      closers.push(() => server.close());
      metricsUrl = `${server.url}/metrics`;
    }
    return { agent, multiaddrs: network.multiaddrs, store, metricsUrl, liveUrl: live?.url ?? null, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Loads the one kind of store that the agent has. */
async function openStore(config: AgentConfig, { libp2p }: Libp2pNetwork): Promise<CollectedStore> {
  if (config.content.kind === "kubo") {
    const { createKuboContentStore } = await import("../../adapters/ipfs/kubo-content-store.ts");
    return createKuboContentStore({ url: config.content.url });
  }
  const { createHeliaContentStore } = await import("../../adapters/ipfs/helia-content-store.ts");
  return createHeliaContentStore({ libp2p, path: storeFolder(config) });
}

async function openMetrics(): Promise<Metrics> {
  const { createMetrics } = await import("../../adapters/metrics/metrics.ts");
  return createMetrics();
}

/** LV4: null unless the config lets others watch. */
async function openLive({ live }: AgentConfig, log: Log): Promise<LiveStreams | null> {
  if (live === undefined) return null;
  const server = await startLiveStreams(live);
  log.info({ url: server.url }, "the live stream shows what this agent's committees say");
  return server;
}

function describeModel(
  { model: { calibration = "none" } }: AgentConfig,
  { prompts, descriptor }: Model,
  log: Log,
): void {
  // CF6: the log says whether confidences are calibrated.
  log.info({ calibration }, "confidences count by the calibration table, or as the model gives them without one");
  log.info({ prompts: promptsName(prompts) }, "the model is asked with this set of prompts");
  if (prompts === "small") log.warn({ model: descriptor }, `a model of the small set ${KNOWS_TOYS}`);
}
