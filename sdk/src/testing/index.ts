// A whole network for the integration tests of an application, in Node: `conclave dev` of the package `conclave`.
import { createPublicClient, createWalletClient, http, type PublicClient, type WalletClient } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createConclave, type Ask, type Conclave } from "../conclave.ts";
import type { RequestUpdate } from "../follow.ts";
import { startDev, type DevFacts, type NetworkOptions } from "./dev-process.ts";

export type { NetworkOptions } from "./dev-process.ts";

/** A chain, contracts and agents on this machine, which end with this process. */
export interface Network extends DevFacts {
  readonly publicClient: PublicClient;
  /** Signs as the asker. */
  readonly walletClient: WalletClient;
  /** Asks as the asker. */
  readonly conclave: Conclave;
  /** Asks, waits, and resolves with the final state. */
  ask(question: Ask, signal?: AbortSignal): Promise<RequestUpdate>;
  /** Resolves when every agent serves. Questions are taken before. */
  serving(): Promise<void>;
  /** Ends all of it. Idempotent. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const POLL_MS = 200;

/**
 * Starts a network and resolves when it takes questions.
 * @throws USAGE, or WORLD_FAILED if there is no `conclave`, or if it does not start
 */
export async function startNetwork(options: NetworkOptions = {}): Promise<Network> {
  const dev = await startDev(options);
  const { rpcUrl, deployment, deploymentFile, gateways, subgraphUrl, asker } = dev.facts;
  const transport = http(rpcUrl);
  const publicClient = createPublicClient({ transport, pollingInterval: POLL_MS });
  const walletClient = createWalletClient({ account: privateKeyToAccount(asker.privateKey), transport });
  const conclave = createConclave({
    publicClient,
    walletClient,
    deployment,
    ...(subgraphUrl === null ? {} : { subgraphUrl }),
  });
  return {
    rpcUrl,
    deployment,
    deploymentFile,
    gateways,
    subgraphUrl,
    asker,
    publicClient,
    walletClient,
    conclave,
    async ask(question, asking) {
      const { requestId, cursor } = await conclave.ask(question);
      const follow = { from: cursor, pollIntervalMs: POLL_MS, ...(asking === undefined ? {} : { signal: asking }) };
      let last: RequestUpdate | null = null;
      for await (const update of conclave.follow(requestId, follow)) last = update;
      if (last === null) throw new Error(`Follow request ${requestId}: it has no state`);
      return last;
    },
    serving: dev.serving,
    stop: dev.stop,
    [Symbol.asyncDispose]: dev.stop,
  };
}
