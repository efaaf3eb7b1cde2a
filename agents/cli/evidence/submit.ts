import { refusals } from "../../adapters/chain/refusals.ts";
import { createChainWriter } from "../../adapters/chain/writer.ts";
import { ConclaveError, type ErrorCode } from "../../core/errors.ts";
import { recordOf } from "../../core/request/progress.ts";
import type { Receipt } from "../../ports/chain.ts";
import { formatAmount } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { unreadableRows } from "../shared/unreadable-proofs.ts";
import { describeProof, keptProofs, type KeptProof } from "./evidence.ts";
import { agentFlags, openAgentKeys, type AgentFlags } from "../shared/keys.ts";
import { rows } from "../shared/output.ts";

/** Errors of one proof, which say nothing about the next. */
const REFUSED: ReadonlySet<ErrorCode> = new Set(["CHAIN_REVERTED", "EVIDENCE_UNPROVABLE", "REQUEST_UNKNOWN"]);

interface Submission extends KeptProof {
  readonly result: Receipt | "already" | ConclaveError;
}

export const evidenceSubmit: CommandSpec<AgentFlags> = {
  example: "conclave evidence submit --dir ./my-agent",
  options: agentFlags,
  run: async ({ options, host }) => {
    const { agent, kept, unreadable } = await keptProofs(options, host);
    const open = kept.filter(({ slashed }) => !slashed);
    const submissions: Submission[] = [];
    if (open.length > 0) {
      const keys = await openAgentKeys(agent.config, options, host);
      const writer = await createChainWriter({ ...agent.source, account: keys.viemAccount() }, host.signal);
      for (const one of open) {
        const readRecord = async () => recordOf(await agent.chain.requestEvents(one.proof.request.id, host.signal));
        const result = await writer.submitEvidence(one.proof, readRecord, host.signal).catch(asRefusal);
        submissions.push({ ...one, result });
      }
    }
    const reward = await agent.terms.reward(agent.signer, host.signal);
    return {
      json: { submitted: submissions.map(submissionJson), unreadable, reward },
      text: rows([
        ...submissions.map(({ proof, result }) => [wordOf(result), describeProof(proof)] as const),
        ...unreadableRows(unreadable),
        ...(submissions.length === 0 ? [["evidence", "none that the chain does not know"] as const] : []),
        ["reward", `${formatAmount(reward, agent.terms.stakeToken)} owed to ${agent.signer}`],
      ]),
      ok: unreadable.length === 0 && submissions.every(({ result }) => !(result instanceof ConclaveError)),
    };
  },
};

/**
 * Returns the error of a refused proof, so that it does not hold back the others, e.g. if the agent has no stake left.
 */
function asRefusal(error: unknown): ConclaveError {
  if (error instanceof ConclaveError && REFUSED.has(error.code)) return error;
  throw error;
}

function submissionJson({ proof, result }: Submission): object {
  const { request, agentId, slot } = proof;
  const about = { requestId: request.id, attempt: slot.attempt, agentId };
  if (result instanceof ConclaveError) return { ...about, refused: result.message };
  return result === "already" ? { ...about, already: true } : { ...about, ...result };
}

function wordOf(result: Submission["result"]): string {
  if (result instanceof ConclaveError) {
    if (result.code !== "CHAIN_REVERTED") return `refused (${result.message})`;
    const name = String(result.data["error"]);
    const wayOut = refusals[name];
    return `refused (${wayOut === undefined ? name : `${name}: ${wayOut}`})`;
  }
  return result === "already" ? "already" : "slashed";
}
