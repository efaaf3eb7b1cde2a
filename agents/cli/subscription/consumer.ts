import { CURRENCIES, type Currency } from "../../core/types.ts";
import { UNBOUNDED } from "../../ports/chain.ts";
import { accountFlags, type AccountFlags, openOwnAccount } from "../shared/account.ts";
import { parseAddress, parseAmount, unitOf, usage, type Unit } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows, transactionRow } from "../shared/output.ts";
import { allowanceText, currencyFlag, findSubscription, parseCurrency } from "./subscription.ts";

interface Options extends AccountFlags {
  readonly consumer: string;
  readonly allowance?: string;
  readonly currency: string;
  readonly remove?: true;
}

export const subscriptionConsumer: CommandSpec<Options> = {
  example: "conclave subscription consumer 1 --consumer 0x5fbd...0aa3 --allowance 50 --keystore ./keystore.json",
  options: [
    { flags: "--consumer <address>", description: "who asks", required: true },
    {
      flags: "--allowance <amount>",
      description:
        "how much it may spend in this currency from now on, in whole units, or any; it replaces what is left, and refunds do not raise it",
    },
    currencyFlag,
    { flags: "--remove", description: "let it spend nothing more in any currency; requests that were asked continue" },
    ...accountFlags,
  ],
  run: async ({ args, options, host }) => {
    const consumer = parseAddress(options.consumer, "--consumer");
    const currency = parseCurrency(options.currency);
    const { terms, actions } = await openOwnAccount(options, host);
    const amount = amountOf(options, unitOf(currency, terms.feeToken));
    const { subscriptionId } = await findSubscription(args[0], terms, host.signal);
    const before = await terms.allowance(subscriptionId, consumer, host.signal);
    const allowance = amount === null ? NOTHING : { ...before, [currency]: amount };
    const receipt = await actions.setConsumer(subscriptionId, consumer, allowance);
    return {
      json: { subscriptionId, consumer, allowance, before, transactionHash: receipt.transactionHash },
      text: rows([
        ["subscription", String(subscriptionId)],
        ["consumer", consumer],
        ...CURRENCIES.map((one) => {
          const unit = unitOf(one, terms.feeToken);
          return [
            "may spend",
            `${allowanceText(allowance[one], unit)}, before ${allowanceText(before[one], unit)}`,
          ] as const;
        }),
        transactionRow(receipt),
      ]),
    };
  },
};

const NOTHING: Readonly<Record<Currency, bigint>> = { token: 0n, native: 0n };

/** Returns the new allowance; null removes the consumer. */
function amountOf({ allowance, remove }: Options, unit: Unit): bigint | null {
  if ((allowance === undefined) === (remove === undefined))
    throw usage("--allowance", allowance ?? "", "give either --allowance or --remove");
  if (allowance === undefined) return null;
  if (allowance === "any") return UNBOUNDED;
  const amount = parseAmount(allowance, unit, "--allowance");
  if (amount >= UNBOUNDED)
    throw usage("--allowance", allowance, "give less than 2^104 - 1 of the smallest unit, or any");
  return amount;
}
