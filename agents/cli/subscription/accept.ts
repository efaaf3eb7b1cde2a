import { accountFlags, type AccountFlags, openOwnAccount } from "../shared/account.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows, transactionRow } from "../shared/output.ts";
import { findSubscription } from "./subscription.ts";

export const subscriptionAccept: CommandSpec<AccountFlags> = {
  example: "conclave subscription accept 1 --keystore ./keystore.json",
  options: accountFlags,
  run: async ({ args, options, host }) => {
    const { terms, keys, actions } = await openOwnAccount(options, host);
    const { subscriptionId, owner } = await findSubscription(args[0], terms, host.signal);
    const receipt = await actions.acceptSubscription(subscriptionId);
    return {
      json: { subscriptionId, owner: keys.address, before: owner, transactionHash: receipt.transactionHash },
      text: rows([
        ["subscription", String(subscriptionId)],
        ["owner", `${keys.address}, before ${owner}`],
        transactionRow(receipt),
      ]),
    };
  },
};
