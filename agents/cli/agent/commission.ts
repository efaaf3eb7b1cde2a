import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { ConclaveError } from "../../core/errors.ts";
import { parseCommission } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { operatorFlags, type OperatorFlags } from "../shared/keys.ts";
import { openOperator } from "../shared/operator.ts";
import { percent, rows, utc, transactionRow } from "../shared/output.ts";

interface Options extends OperatorFlags {
  readonly set?: string;
  readonly raise?: true;
}

export const agentCommission: CommandSpec<Options> = {
  example: "conclave agent commission --dir ./my-agent --set 7.5\nconclave agent commission --dir ./my-agent --raise",
  options: [
    ...operatorFlags,
    { flags: "--set <percent>", description: "of the agent's pay, at most 50; a higher one is only announced" },
    { flags: "--raise", description: "let the announced commission take effect, after the unbonding delay" },
  ],
  run: async ({ options, host }) => {
    if ((options.set === undefined) === (options.raise === undefined))
      throw new ConclaveError("USAGE", "Change the commission: give either --set PERCENT or --raise", {});
    const { source, chain, keys, record } = await openOperator(options, host);
    const { agentId } = record;
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const receipt =
      options.set === undefined
        ? await actions.raiseCommission(agentId)
        : await actions.setCommission(agentId, parseCommission(options.set, "--set"));
    const { commission, raise } = (await chain.agentBySigner(record.signer, host.signal)) ?? record;
    return {
      json: { agentId, commission, raise, transactionHash: receipt.transactionHash, gasUsed: receipt.gasUsed },
      text: rows([
        ["agent", String(agentId)],
        ["commission", percent(commission)],
        ["announced", raise === null ? "none" : `${percent(raise.commission)}, from ${utc(raise.time)} on`],
        transactionRow(receipt),
        ...(raise === null
          ? []
          : [["next", `after that: conclave agent commission --dir ${options.dir} --raise`] as const]),
      ]),
    };
  },
};
