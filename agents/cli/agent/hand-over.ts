import { createOperatorActions } from "../../adapters/chain/operator.ts";
import type { Address } from "../../core/types.ts";
import { parseAddress, usage } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { operatorFlags, type OperatorFlags } from "../shared/keys.ts";
import { openOperator } from "../shared/operator.ts";
import { rows, transactionRow } from "../shared/output.ts";

interface Options extends OperatorFlags {
  readonly to?: string;
  readonly cancel?: true;
}

export const agentHandOver: CommandSpec<Options> = {
  example: "conclave agent hand-over --dir ./my-agent --to 0x5fbd...0aa3",
  options: [
    ...operatorFlags,
    { flags: "--to <address>", description: "who may take it over; replaces an earlier offer" },
    { flags: "--cancel", description: "take the offer back" },
  ],
  run: async ({ options, host }) => {
    const offeredTo = receiverOf(options);
    const { source, keys, record } = await openOperator(options, host);
    const { agentId } = record;
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const receipt = await actions.transferOperator(agentId, offeredTo);
    const { transactionHash, gasUsed } = receipt;
    return {
      json: { agentId, operator: keys.address, offeredTo, transactionHash, gasUsed },
      text: rows([
        ["agent", String(agentId)],
        ["offered to", offeredTo ?? "nobody"],
        transactionRow(receipt),
        ...(offeredTo === null
          ? []
          : [
              [
                "next",
                `from ${offeredTo}: conclave delegate ${agentId} AMOUNT, then conclave agent take-over ${agentId}`,
              ] as const,
            ]),
      ]),
    };
  },
};

/** Returns the account that is offered the agent; null takes the offer back. */
function receiverOf({ to, cancel }: Options): Address | null {
  if ((to === undefined) === (cancel === undefined)) throw usage("--to", to ?? "", "give either --to or --cancel");
  return to === undefined ? null : parseAddress(to, "--to");
}
