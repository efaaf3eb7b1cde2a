import { accountFlags, type AccountFlags, openOwnAccount } from "../shared/account.ts";
import { formatAmount, parseAddress, parseAmount, unitOf } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows, transactionRow } from "../shared/output.ts";
import { currencyFlag, findSubscription, parseCurrency } from "./subscription.ts";

interface Options extends AccountFlags {
  readonly amount: string;
  readonly currency: string;
  readonly to?: string;
}

export const subscriptionWithdraw: CommandSpec<Options> = {
  example: "conclave subscription withdraw 1 --amount all --keystore ./keystore.json",
  options: [
    { flags: "--amount <amount>", description: "in whole units of the currency, or all", required: true },
    currencyFlag,
    { flags: "--to <address>", description: "receiver (default: the account itself)" },
    ...accountFlags,
  ],
  run: async ({ args, options, host }) => {
    const currency = parseCurrency(options.currency);
    const { terms, keys, actions } = await openOwnAccount(options, host);
    const { subscriptionId, balance } = await findSubscription(args[0], terms, host.signal);
    const to = options.to === undefined ? keys.address : parseAddress(options.to, "--to");
    const unit = unitOf(currency, terms.feeToken);
    const amount = options.amount === "all" ? balance[currency] : parseAmount(options.amount, unit, "--amount");
    const receipt = await actions.withdrawFunds(subscriptionId, currency, amount, to);
    return {
      json: { subscriptionId, currency, amount, to, transactionHash: receipt.transactionHash },
      text: rows([
        ["subscription", String(subscriptionId)],
        ["withdrawn", `${formatAmount(amount, unit)} to ${to}`],
        transactionRow(receipt),
      ]),
    };
  },
};
