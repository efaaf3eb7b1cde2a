import { readChainTerms } from "../../adapters/chain/terms.ts";
import { CURRENCIES } from "../../core/types.ts";
import { formatAmount, parseAddress, unitOf } from "../shared/arguments.ts";
import { chainFlags, findChain, type ChainFlags } from "../shared/chain-source.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows, type Row } from "../shared/output.ts";
import { allowanceText, findSubscription } from "./subscription.ts";

interface Options extends ChainFlags {
  readonly consumer?: string;
}

export const subscriptionShow: CommandSpec<Options> = {
  example: "conclave subscription show 1 --deployment deployments/31337.json",
  options: [{ flags: "--consumer <address>", description: "who asks" }, ...chainFlags],
  run: async ({ args, options, host }) => {
    const consumer = options.consumer === undefined ? null : parseAddress(options.consumer, "--consumer");
    const terms = await readChainTerms(await findChain(options, host), host.signal);
    const found = await findSubscription(args[0], terms, host.signal);
    const { subscriptionId, owner, pendingOwner, balance, requests } = found;
    const allowance = consumer === null ? null : await terms.allowance(subscriptionId, consumer, host.signal);
    const held = CURRENCIES.map((currency): Row => {
      return ["holds", formatAmount(balance[currency], unitOf(currency, terms.feeToken))];
    });
    const offer: readonly Row[] = pendingOwner === null ? [] : [["offered to", pendingOwner]];
    const asks = CURRENCIES.flatMap((currency): readonly Row[] => {
      if (consumer === null || allowance === null) return [];
      return [[consumer, `may spend ${allowanceText(allowance[currency], unitOf(currency, terms.feeToken))}`]];
    });
    return {
      json: { ...found, consumer, allowance },
      text: rows([
        ["subscription", String(subscriptionId)],
        ["owner", owner],
        ...offer,
        ...held,
        ["requests", String(requests)],
        ...asks,
      ]),
    };
  },
};
