import { join, resolve } from "node:path";
import { createSystemClock } from "../../adapters/clock/system-clock.ts";
import { createFileEvidence } from "../../adapters/evidence/file-evidence.ts";
import { retentionMs, type CollectionPorts } from "../../node/collector.ts";
import type { CliHost } from "./command.ts";
import { CONFIG_FILE, EVIDENCE_FOLDER } from "./config.ts";
import type { AgentFlags } from "./keys.ts";
import type { AgentOnChain } from "./operator.ts";

/** AV10: returns the retention window of an agent's config. Throws CONFIG_INVALID. */
export function retentionOf({ config, terms }: AgentOnChain, flags: AgentFlags, host: CliHost): number {
  const { retentionDays } = config.collection;
  return retentionMs(retentionDays, terms.unbondingDelaySeconds, resolve(host.cwd, flags.dir, CONFIG_FILE));
}

/** Returns the ports that tell which transcripts are over. */
export function collectionPortsOf({ config, chain, terms }: AgentOnChain): Omit<CollectionPorts, "store"> {
  return {
    chain,
    evidence: createFileEvidence(join(config.dataDir, EVIDENCE_FOLDER)),
    isConsumed: (proof, signal) => terms.isConsumed(proof, signal),
    clock: createSystemClock(),
  };
}
