import { formatAmount } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { unreadableRows } from "../shared/unreadable-proofs.ts";
import { describeProof, keptProofs } from "./evidence.ts";
import { dirFlag, type AgentFlags } from "../shared/keys.ts";
import { rows } from "../shared/output.ts";

export const evidenceList: CommandSpec<AgentFlags> = {
  example: "conclave evidence list --dir ./my-agent",
  options: [dirFlag],
  run: async ({ options, host }) => {
    const { agent, kept, unreadable } = await keptProofs(options, host);
    const reward = await agent.terms.reward(agent.signer, host.signal);
    return {
      json: { proofs: kept.map(({ proof, slashed }) => ({ ...proof, slashed })), unreadable, reward },
      text: rows([
        ...kept.map(({ proof, slashed }) => [slashed ? "slashed" : "open", describeProof(proof)] as const),
        ...unreadableRows(unreadable),
        ...(kept.length === 0 && unreadable.length === 0 ? [["evidence", "none"] as const] : []),
        ["reward", `${formatAmount(reward, agent.terms.stakeToken)} owed to ${agent.signer}`],
      ]),
    };
  },
};
