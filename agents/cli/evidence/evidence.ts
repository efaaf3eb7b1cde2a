import { join } from "node:path";
import { createFileEvidence } from "../../adapters/evidence/file-evidence.ts";
import type { EquivocationProof } from "../../ports/chain.ts";
import type { UnreadableProof } from "../../ports/evidence.ts";
import type { CliHost } from "../shared/command.ts";
import { EVIDENCE_FOLDER } from "../shared/config.ts";
import type { AgentFlags } from "../shared/keys.ts";
import { lookUpAgent, type AgentOnChain } from "../shared/operator.ts";

export interface KeptProof {
  readonly proof: EquivocationProof;
  /** True if the chain has slashed for the proof, whoever submitted it. */
  readonly slashed: boolean;
}

/** Reads the proofs that the agent keeps, the oldest request first; works while the agent runs. */
export async function keptProofs(
  flags: AgentFlags,
  host: CliHost,
): Promise<{
  readonly agent: AgentOnChain;
  readonly kept: readonly KeptProof[];
  readonly unreadable: readonly UnreadableProof[];
}> {
  const agent = await lookUpAgent(flags, host);
  const kept: KeptProof[] = [];
  const { proofs, unreadable } = await createFileEvidence(join(agent.config.dataDir, EVIDENCE_FOLDER)).list();
  for (const proof of proofs) kept.push({ proof, slashed: await agent.terms.isConsumed(proof, host.signal) });
  return { agent, kept, unreadable };
}

export function describeProof({ request, agentId, ...proof }: EquivocationProof): string {
  const about = `request ${request.id}.${proof.slot.attempt}: agent ${agentId}`;
  if (proof.kind === "decisions") return `${about}, two decisions in ballot ${proof.slot.round}`;
  const { seat, phase, round } = proof.slot;
  return `${about}, seat ${seat}, phase ${phase}, round ${round}`;
}
