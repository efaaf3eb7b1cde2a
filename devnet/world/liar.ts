// A misbehaving agent: it lies in every role, and tells half of the committee something different.
import { join } from "node:path";
import { pino } from "pino";
import { createOperatorActions } from "../../agents/adapters/chain/operator.ts";
import { openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import { chainSource } from "../../agents/cli/shared/chain-source.ts";
import { CONFIG_FILE, loadAgentConfig } from "../../agents/cli/shared/config.ts";
import { joinAgent } from "../../agents/cli/agent/join.ts";
import type { AgentId, Attempt } from "../../agents/core/types.ts";
import { equivocatingNetwork, lyingModel, rememberingChain } from "./lies.ts";

const [directory, agentId] = process.argv.slice(2);
if (directory === undefined || agentId === undefined) throw new Error("usage: liar.ts DIR AGENT_ID");
const config = await loadAgentConfig(join(directory, CONFIG_FILE));
const keys = await openKeystore(config.keystore, process.env["CONCLAVE_PASSWORD"] ?? "");
const source = chainSource(config.chain);
const abort = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => abort.abort());

const attempts = new Map<string, Attempt>();
const joined = await joinAgent(config, keys, pino(pino.destination(2)), {
  model: lyingModel,
  chain: (chain) => rememberingChain(chain, attempts),
  network: (network) => equivocatingNetwork(network, keys, attempts),
});
const operator = await createOperatorActions({ ...source, account: keys.viemAccount() });
await operator.setEndpoint(Number(agentId) as AgentId, joined.multiaddrs);
await joined.agent.run(abort.signal);
await joined.close();
