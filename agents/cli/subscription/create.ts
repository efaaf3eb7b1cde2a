import { accountFlags, type AccountFlags, openOwnAccount } from "../shared/account.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows, transactionRow } from "../shared/output.ts";

export const subscriptionCreate: CommandSpec<AccountFlags> = {
  example: "conclave subscription create --keystore ./keystore.json",
  options: accountFlags,
  run: async ({ options, host }) => {
    const { keys, actions } = await openOwnAccount(options, host);
    const { subscriptionId, receipt } = await actions.createSubscription();
    return {
      json: { subscriptionId, owner: keys.address, transactionHash: receipt.transactionHash },
      text: rows([
        ["subscription", String(subscriptionId)],
        ["owner", keys.address],
        transactionRow(receipt),
        ["next", `conclave subscription fund ${subscriptionId} --amount 100`],
      ]),
    };
  },
};
