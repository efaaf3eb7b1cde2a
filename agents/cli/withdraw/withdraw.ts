import { accountFlags, type AccountFlags, openOwnAccount } from "../shared/account.ts";
import { parseAddress } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows } from "../shared/output.ts";
import { withdrawAll, withdrawalRows } from "../shared/withdrawals.ts";

interface Options extends AccountFlags {
  readonly to?: string;
}

export const withdraw: CommandSpec<Options> = {
  example: "conclave withdraw --keystore ./keystore.json",
  options: [{ flags: "--to <address>", description: "receiver (default: the account itself)" }, ...accountFlags],
  run: async ({ options, host }) => {
    const { terms, keys, actions } = await openOwnAccount(options, host);
    const to = options.to === undefined ? keys.address : parseAddress(options.to, "--to");
    const withdrawals = await withdrawAll(actions, terms, to, host.signal);
    return { json: { withdrawals, to }, text: rows(withdrawalRows(withdrawals, terms.feeToken, to)) };
  },
};
