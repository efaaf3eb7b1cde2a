import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { descriptorOf } from "../../adapters/models/create-model.ts";
import type { CommandSpec } from "../shared/command.ts";
import { operatorFlags, type OperatorFlags } from "../shared/keys.ts";
import { lookUpAgent, openOperatorOf, requireRegistered } from "../shared/operator.ts";
import { printable, rows, transactionRow } from "../shared/output.ts";

interface Options extends OperatorFlags {
  readonly set?: true;
}

export const agentModel: CommandSpec<Options> = {
  example: "conclave agent model --dir ./my-agent\nconclave agent model --dir ./my-agent --set",
  options: [...operatorFlags, { flags: "--set", description: "write the configured model to the registry" }],
  run: async ({ options, host }) => {
    const agent = await lookUpAgent(options, host);
    const configured = await descriptorOf(agent.config.model);
    const { agentId, model: registered } = requireRegistered(agent);
    const isSame = configured === registered;
    const named = ["agent", String(agentId)] as const;
    if (options.set !== true || isSame) {
      const facts = [
        named,
        ["configured", printable(configured)],
        ["registered", isSame ? "the same" : printable(registered)],
      ] as const;
      const next = isSame ? [] : [["next", `conclave agent model --dir ${options.dir} --set`] as const];
      return { json: { agentId, configured, registered }, text: rows([...facts, ...next]) };
    }
    const { source, keys } = await openOperatorOf(agent, options, host);
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const receipt = await actions.setModel(agentId, configured);
    return {
      json: { agentId, configured, registered, transactionHash: receipt.transactionHash, gasUsed: receipt.gasUsed },
      text: rows([
        named,
        ["registered", `was ${printable(registered)}, now ${printable(configured)}`],
        transactionRow(receipt),
      ]),
    };
  },
};
