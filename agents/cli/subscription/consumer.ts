import { accountFlags, type AccountFlags, openOwnAccount } from "../shared/account.ts";
import { parseAddress } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows, transactionRow } from "../shared/output.ts";
import { findSubscription } from "./subscription.ts";

interface Options extends AccountFlags {
  readonly consumer: string;
  readonly remove?: true;
}

export const subscriptionConsumer: CommandSpec<Options> = {
  example: "conclave subscription consumer 1 --consumer 0x5fbd...0aa3 --keystore ./keystore.json",
  options: [
    { flags: "--consumer <address>", description: "who asks", required: true },
    { flags: "--remove", description: "take the permission back; requests that were asked continue" },
    ...accountFlags,
  ],
  run: async ({ args, options, host }) => {
    const consumer = parseAddress(options.consumer, "--consumer");
    const { terms, actions } = await openOwnAccount(options, host);
    const { subscriptionId } = await findSubscription(args[0], terms, host.signal);
    const allowed = options.remove !== true;
    const receipt = await actions.setConsumer(subscriptionId, consumer, allowed);
    return {
      json: { subscriptionId, consumer, allowed, transactionHash: receipt.transactionHash },
      text: rows([
        ["subscription", String(subscriptionId)],
        [allowed ? "allowed" : "removed", consumer],
        transactionRow(receipt),
      ]),
    };
  },
};
