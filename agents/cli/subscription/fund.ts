import { accountFlags, requireFunds, type AccountFlags, openOwnAccount } from "../shared/account.ts";
import { formatAmount, parseAmount, unitOf } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows, transactionRow } from "../shared/output.ts";
import { currencyFlag, findSubscription, parseCurrency } from "./subscription.ts";

interface Options extends AccountFlags {
  readonly amount: string;
  readonly currency: string;
}

export const subscriptionFund: CommandSpec<Options> = {
  example: "conclave subscription fund 1 --amount 100 --keystore ./keystore.json",
  options: [
    { flags: "--amount <amount>", description: "in whole units of the currency, e.g. 12.5", required: true },
    currencyFlag,
    ...accountFlags,
  ],
  run: async ({ args, options, host }) => {
    const currency = parseCurrency(options.currency);
    const { terms, keys, actions } = await openOwnAccount(options, host);
    const { subscriptionId } = await findSubscription(args[0], terms, host.signal);
    const unit = unitOf(currency, terms.feeToken);
    const amount = parseAmount(options.amount, unit, "--amount");
    await requireFunds({ what: "amount", amount, currency }, terms, keys.address, host.signal);
    const receipt = await actions.fund(subscriptionId, currency, amount);
    return {
      json: { subscriptionId, currency, amount, transactionHash: receipt.transactionHash },
      text: rows([
        ["subscription", String(subscriptionId)],
        ["funded", formatAmount(amount, unit)],
        transactionRow(receipt),
      ]),
    };
  },
};
