import { pino } from "pino";
import { createChainReader } from "../adapters/chain/reader.ts";
import { createOperatorActions } from "../adapters/chain/operator.ts";
import type { Keys } from "../adapters/keystore/keys.ts";
import { ConclaveError } from "../core/errors.ts";
import type { Address } from "../core/types.ts";
import type { Log } from "../ports/log.ts";
import type { AgentConfig } from "./config.ts";
import { joinAgent, type Decorators } from "./join.ts";

/** Runs a registered agent until the signal aborts; first publishes on chain where it listens. */
export async function serveAgent(
  config: AgentConfig,
  keys: Keys,
  signal: AbortSignal,
  decorators: Decorators = {},
): Promise<void> {
  const log: Log = pino({ base: undefined, redact: ["*.privateKey", "*.password"] }, pino.destination(2));
  const joined = await joinAgent(config, keys, log, decorators);
  try {
    await publishEndpoint(config, keys, joined.multiaddrs, log);
    log.info({ signer: keys.address, listening: joined.multiaddrs }, "agent serves");
    await joined.agent.run(signal);
    log.info({}, "agent stopped");
  } finally {
    await joined.close();
  }
}

async function publishEndpoint(config: AgentConfig, keys: Keys, listening: readonly string[], log: Log): Promise<void> {
  const { rpcUrl, chainId, oracle, registry, deploymentBlock, finalityDepth, pollIntervalMs } = config.chain;
  const contracts = {
    rpcUrl,
    chainId,
    oracle: oracle as Address,
    registry: registry as Address,
    deploymentBlock: BigInt(deploymentBlock),
  };
  const chain = await createChainReader({ ...contracts, finalityDepth, pollIntervalMs, logger: log });
  const record = await chain.agentBySigner(keys.address);
  if (record === null) {
    throw new ConclaveError(
      "AGENT_NOT_REGISTERED",
      `Look up ${keys.address} failed: no agent has this signer; run conclave agent register first`,
      { signer: keys.address },
    );
  }
  const endpoint = config.announce.length > 0 ? config.announce : listening;
  if (record.endpoint.join() === endpoint.join()) return;
  const operator = await createOperatorActions({ ...contracts, account: keys.viemAccount() });
  await operator.setEndpoint(record.agentId, endpoint);
  log.info({ agentId: record.agentId, endpoint }, "published the endpoint");
}
