import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { formatAmount, parseAddress } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { agentFlags, openAgentKeys, type AgentFlags } from "../shared/keys.ts";
import { lookUpAgent } from "../shared/operator.ts";
import { rows } from "../shared/output.ts";

interface Options extends AgentFlags {
  readonly to?: string;
}

export const evidenceClaim: CommandSpec<Options> = {
  example: "conclave evidence claim --dir ./my-agent --to 0x5fbd...0aa3",
  options: [...agentFlags, { flags: "--to <address>", description: "receiver (default: the agent's own address)" }],
  run: async ({ options, host }) => {
    const { config, source, terms, signer } = await lookUpAgent(options, host);
    const to = options.to === undefined ? signer : parseAddress(options.to, "--to");
    const amount = await terms.reward(signer, host.signal);
    const keys = await openAgentKeys(config, options, host);
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const receipt = amount === 0n ? null : await actions.claimReward(to);
    return {
      json: { amount, to, transactionHash: receipt?.transactionHash ?? null },
      text: rows([
        ["claimed", receipt === null ? "nothing is owed" : `${formatAmount(amount, terms.stakeToken)} to ${to}`],
        ["transaction", receipt?.transactionHash ?? "none"],
      ]),
    };
  },
};
