import { accountFlags, type AccountFlags, openOwnAccount } from "../shared/account.ts";
import { parseAddress, usage } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows, transactionRow } from "../shared/output.ts";
import { findSubscription } from "./subscription.ts";

interface Options extends AccountFlags {
  readonly to?: string;
  readonly cancel?: true;
}

export const subscriptionTransfer: CommandSpec<Options> = {
  example: "conclave subscription transfer 1 --to 0x5fbd...0aa3 --keystore ./keystore.json",
  options: [
    { flags: "--to <address>", description: "who may take it over, with all that it holds; replaces an earlier offer" },
    { flags: "--cancel", description: "take the offer back" },
    ...accountFlags,
  ],
  run: async ({ args, options, host }) => {
    const offeredTo = receiverOf(options);
    const { terms, actions } = await openOwnAccount(options, host);
    const { subscriptionId } = await findSubscription(args[0], terms, host.signal);
    const receipt = await actions.transferSubscription(subscriptionId, offeredTo);
    return {
      json: { subscriptionId, offeredTo, transactionHash: receipt.transactionHash },
      text: rows([
        ["subscription", String(subscriptionId)],
        ["offered to", offeredTo ?? "nobody"],
        transactionRow(receipt),
        ...(offeredTo === null ? [] : [["next", `conclave subscription accept ${subscriptionId}`] as const]),
      ]),
    };
  },
};

/** Returns the account that is offered the subscription; null takes the offer back. */
function receiverOf({ to, cancel }: Options): ReturnType<typeof parseAddress> | null {
  if ((to === undefined) === (cancel === undefined)) throw usage("--to", to ?? "", "give either --to or --cancel");
  return to === undefined ? null : parseAddress(to, "--to");
}
