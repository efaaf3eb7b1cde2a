// The demo's misbehaving agent: it lies in every role, and tells half of the committee another vote than the rest.
import { lyingModel, equivocatingNetwork } from "../../agents/sim/byzantine.ts";
import { VOTE } from "../../agents/core/protocols/mbft/config.ts";
import { readAgentConfig } from "../../agents/cli/config.ts";
import { serveAgent } from "../../agents/cli/serve.ts";
import { openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import type { Address } from "../../agents/core/types.ts";

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error("usage: liar.ts DIR");
const config = await readAgentConfig(directory);
const keys = await openKeystore(config.keystore, process.env["CONCLAVE_PASSWORD"] ?? "");
const domain = { chainId: config.chain.chainId, oracle: config.chain.oracle.toLowerCase() as Address };
const abort = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => abort.abort());
await serveAgent(config, keys, abort.signal, {
  model: lyingModel,
  network: (network) => equivocatingNetwork(network, keys, domain, VOTE, () => ({ votes: [] })),
});
